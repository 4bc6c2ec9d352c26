import { createReadStream } from 'node:fs';
import type { Dispatcher } from 'undici';
import { errorMessage, TransientError } from '../lib/errors.ts';
import { SECOND_MS } from '../lib/time.ts';

interface SendRequest {
  method: 'GET' | 'PUT' | 'POST' | 'HEAD';
  url: string;
  headers: Record<string, string>;
  /** The file to send as body. */
  bodyPath?: string;
  /** A short body. */
  text?: string;
}

export interface SendAnswer {
  status: number;
  headers: Dispatcher.ResponseData['headers'];
  /** The beginning of the body. */
  text: string;
}

const SILENCE_MS_MAX = 60 * SECOND_MS;
const ANSWER_BYTES_MAX = 16_384;

/**
 * Sends one request with a file or a text as its body. Redirects are not followed, because they would send
 * credentials to another server.
 * @throws TransientError without an answer
 */
export async function send(
  { method, url, headers, bodyPath, text }: SendRequest,
  signal: AbortSignal,
): Promise<SendAnswer> {
  // Loaded at first use, because most services send nothing.
  const { request } = await import('undici');
  const body = bodyPath === undefined ? undefined : createReadStream(bodyPath);
  try {
    const answer = await request(url, {
      method,
      headers,
      body: body ?? text ?? null,
      signal,
      headersTimeout: SILENCE_MS_MAX,
      bodyTimeout: SILENCE_MS_MAX,
    });
    return { status: answer.statusCode, headers: answer.headers, text: await beginning(answer.body) };
  } catch (error) {
    signal.throwIfAborted();
    const why = error instanceof Error && 'code' in error ? String(error.code) : errorMessage(error);
    throw new TransientError('DestinationUnreachable', `${new URL(url).host} does not answer (${why})`, {
      cause: error,
    });
  } finally {
    body?.destroy();
  }
}

async function beginning(body: AsyncIterable<Uint8Array>): Promise<string> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of body) {
    parts.push(part);
    bytes += part.length;
    if (bytes >= ANSWER_BYTES_MAX) break;
  }
  return Buffer.concat(parts).toString('utf8');
}
