import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { bearerToken } from '../access/bearer-token.ts';
import { TerminalError } from '../lib/errors.ts';
import { createServer } from '../lib/node-http.ts';
import type { PlainError } from '../lib/plain-error.ts';
import { MINUTE_MS } from '../lib/time.ts';
import { MEBIBYTE } from '../lib/units.ts';
import { answerText, CONTROL_HEADER, CONTROL_HOST } from './rpc-wire.ts';

const BODY_BYTES_MAX = MEBIBYTE;
const ANSWER_BYTES_MAX = 64 * MEBIBYTE;
/**
 * There are more connections than requests that can be answered or wait. So a request beyond the limit gets
 * an answer that says so.
 */
const CONNECTIONS_MAX = 256;

/**
 * A caller waits for the same time. With a shorter time, a busy process would refuse a request that has
 * arrived and that it has not read yet. The caller would then report that no worker runs.
 */
const ARRIVAL_MS_MAX = MINUTE_MS;

/** Starts a server that only this machine can reach, on a free port. */
export async function listenLocally(
  answer: (request: IncomingMessage, response: ServerResponse) => void,
): Promise<Server> {
  const server = createServer(
    { requestTimeout: ARRIVAL_MS_MAX, headersTimeout: ARRIVAL_MS_MAX },
    (request, response) => {
      response.setHeader(CONTROL_HEADER, '1');
      answer(request, response);
    },
  );
  server.maxConnections = CONNECTIONS_MAX;
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(0, CONTROL_HOST, resolve);
  });
  return server;
}

/** Compares in constant time. */
export function hasSecret({ headers }: IncomingMessage, secret: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(bearerToken(headers.authorization) ?? ''), digest(secret));
}

export async function readRpcBody(request: IncomingMessage): Promise<{ args?: unknown }> {
  const tooLarge = () => new TerminalError('TooLarge', 'the arguments are larger than 1 MiB');
  return parseRpcBody(await readBytes(request, BODY_BYTES_MAX, tooLarge));
}

/** @throws TerminalError `InvalidArguments` */
export function parseRpcBody(bytes: Buffer): { args?: unknown } {
  try {
    return Object(JSON.parse(bytes.toString()));
  } catch {
    throw new TerminalError('InvalidArguments', 'the arguments are not JSON');
  }
}

/** Reads an answer, which was made by `sendRpc`. */
export async function readRpcReply(
  response: IncomingMessage,
): Promise<{ result?: unknown; error?: PlainError }> {
  const tooLarge = () => new RangeError('the answer is too large');
  return JSON.parse((await readBytes(response, ANSWER_BYTES_MAX, tooLarge)).toString());
}

async function readBytes(message: IncomingMessage, bytesMax: number, tooLarge: () => Error): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of message as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > bytesMax) throw tooLarge();
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

export function sendRpc(response: ServerResponse, status: number, body: object): void {
  const text = answerText(body);
  response.writeHead(status, {
    'Content-Type': 'application/json',
    'Content-Length': Buffer.byteLength(text),
    // The rest of a refused body is not read.
    Connection: 'close',
  });
  response.end(text);
}
