import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { pipeline } from 'node:stream/promises';
import type { ProcessTokens } from '../access/process-token.ts';
import { hashFile, sha256Hex } from '../lib/durable-files.ts';
import { request } from '../lib/node-http.ts';
import { fromPlainError } from '../lib/plain-error.ts';
import { SECOND_MS } from '../lib/time.ts';
import type { WorkerAddress } from './owner-directory.ts';
import { fileTooLarge } from './receive-body.ts';
import { ARGUMENTS_HEADER, NOTHING_DONE, SENT_FILE_BYTES_MAX } from './remote-wire.ts';
import { readRpcReply } from './rpc-http.ts';
import { CONTROL_HEADER, HIBERNATED, WAKE_HEADER } from './rpc-wire.ts';

export interface RemoteCall {
  workgroupId: string;
  operation: string;
  /** The text of the arguments. */
  body: string;
  /** A file. Its bytes are sent with the arguments. */
  path?: string | undefined;
  /** False: a workgroup that hibernates stays closed. */
  wake: boolean;
}

export type CallReply =
  | { kind: 'answer'; answer: unknown }
  | { kind: 'failed'; error: Error }
  | { kind: 'hibernates' }
  /** The worker did nothing. Another one can be asked. */
  | { kind: 'not-here' }
  /** The arguments were sent, and no answer came. */
  | { kind: 'unknown'; cause: unknown };

/** A machine that is switched off answers nothing. Nothing refuses the connection. */
const CONNECT_MS = 2 * SECOND_MS;

/**
 * Sends a call to a worker once.
 * @throws the reason of the signal if it aborts before the call was sent
 */
export async function sendCall(
  to: WorkerAddress,
  call: RemoteCall,
  tokens: Pick<ProcessTokens, 'sign'>,
  signal: AbortSignal,
): Promise<CallReply> {
  const { workgroupId, operation, body, path } = call;
  const file = path === undefined ? undefined : await describeFile(path);
  const token = await tokens.sign({
    receiver: to.workerId,
    workgroupId,
    operation,
    argumentsSha256: sha256Hex(body),
    file,
  });
  signal.throwIfAborted();
  const bodyBytes = Buffer.byteLength(body);
  const clientRequest = request({
    host: to.host,
    port: to.port,
    path: `/${workgroupId}/${operation}`,
    method: 'POST',
    agent: false,
    signal,
    headers: {
      Authorization: `Bearer ${token}`,
      // The worker checks the token before the arguments are sent. So a call that was not accepted was surely
      // not run.
      Expect: '100-continue',
      'Content-Type': 'application/octet-stream',
      'Content-Length': bodyBytes + (file?.bytes ?? 0),
      [ARGUMENTS_HEADER]: bodyBytes,
      ...(!call.wake && { [WAKE_HEADER]: 'no' }),
    },
  });
  let isSent = false;
  const connecting = setTimeout(() => clientRequest.destroy(new Error('no connection in time')), CONNECT_MS);
  clientRequest.once('socket', (socket) => socket.once('connect', () => clearTimeout(connecting)));
  clientRequest.once('continue', () => {
    isSent = true;
    clientRequest.write(body);
    if (path === undefined) clientRequest.end();
    else pipeline(createReadStream(path), clientRequest).catch(() => undefined);
  });
  const response = new Promise<IncomingMessage>((resolve, reject) => {
    // This listener also takes errors that come after the answer. Without a listener they would end the
    // process.
    clientRequest.on('error', reject).once('response', resolve);
  });
  response.catch(() => undefined);
  try {
    clientRequest.flushHeaders();
    return await readReply(await response);
  } catch (cause) {
    if (!isSent) {
      signal.throwIfAborted();
      return { kind: 'not-here' };
    }
    return { kind: 'unknown', cause };
  } finally {
    clearTimeout(connecting);
    clientRequest.destroy();
  }
}

async function readReply(response: IncomingMessage): Promise<CallReply> {
  if (response.headers[CONTROL_HEADER] === undefined) {
    // Another program has the port of a worker that has ended.
    response.destroy();
    return { kind: 'not-here' };
  }
  const reply = await readRpcReply(response);
  if (!reply.error) return { kind: 'answer', answer: reply.result };
  if (reply.error.code === HIBERNATED.code) return { kind: 'hibernates' };
  if (NOTHING_DONE.has(reply.error.code)) return { kind: 'not-here' };
  const { type = 'terminal', details = {}, ...rest } = reply.error;
  return { kind: 'failed', error: fromPlainError({ ...rest, type, details }) };
}

async function describeFile(path: string): Promise<{ bytes: number; sha256: string }> {
  const { size } = await stat(path);
  if (size > SENT_FILE_BYTES_MAX) throw fileTooLarge();
  return { bytes: size, sha256: await hashFile(path) };
}
