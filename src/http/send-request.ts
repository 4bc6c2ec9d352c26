import { createReadStream } from 'node:fs';
import { errorCode, errorMessage, TransientError } from '../lib/errors.ts';
import { SECOND_MS } from '../lib/time.ts';

interface SendRequest {
  method: 'GET' | 'POST' | 'HEAD';
  url: string;
  headers: Record<string, string>;
  /** The file to send as body. */
  bodyPath?: string;
  /** A short body. */
  text?: string;
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
): Promise<{ status: number }> {
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
    await drain(answer.body);
    return { status: answer.statusCode };
  } catch (error) {
    signal.throwIfAborted();
    const why = errorCode(error) ?? errorMessage(error);
    throw new TransientError('DestinationUnreachable', `${new URL(url).host} does not answer (${why})`, {
      cause: error,
    });
  } finally {
    body?.destroy();
  }
}

/** Reads the answer, so that its connection can be used again. A long answer is not read to its end. */
async function drain(body: AsyncIterable<Uint8Array>): Promise<void> {
  let bytes = 0;
  for await (const part of body) {
    bytes += part.length;
    if (bytes >= ANSWER_BYTES_MAX) break;
  }
}
