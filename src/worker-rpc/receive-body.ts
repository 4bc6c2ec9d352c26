import { createHash, randomUUID } from 'node:crypto';
import { mkdir, open, readdir, rm, stat } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { join } from 'node:path';
import type { ProcessCall } from '../access/process-token.ts';
import { diskFullError, isDiskFull } from '../lib/disk-full.ts';
import { sha256Hex } from '../lib/durable-files.ts';
import { TerminalError } from '../lib/errors.ts';
import { type Clock, HOUR_MS } from '../lib/time.ts';
import { MEBIBYTE } from '../lib/units.ts';
import { ARGUMENTS_BYTES_MAX, ARGUMENTS_HEADER, SENT_FILE_BYTES_MAX } from './remote-wire.ts';
import { parseRpcBody } from './rpc-http.ts';

const RECEIVED = '.received';

interface ReceivedBody {
  args: unknown;
  /** The received file. Delete it. */
  path?: string;
}

/**
 * Reads the arguments and the file of a call. A file is written to a folder for uploads.
 * @throws TerminalError if a sum or a size differs from the token; TransientError if the disk is full. No
 *   file is left then
 */
export async function receiveBody(
  request: IncomingMessage,
  call: Pick<ProcessCall, 'argumentsSha256' | 'file'>,
  folder: string,
): Promise<ReceivedBody> {
  const argumentBytes = Number(request.headers[ARGUMENTS_HEADER]);
  if (!(argumentBytes >= 0 && argumentBytes <= ARGUMENTS_BYTES_MAX))
    throw new TerminalError(
      'TooLarge',
      `the length of the arguments is missing, or larger than ${ARGUMENTS_BYTES_MAX / MEBIBYTE} MiB`,
    );
  if ((call.file?.bytes ?? 0) > SENT_FILE_BYTES_MAX) throw fileTooLarge();
  const parts = splitAt(request, argumentBytes);
  const head = await parts.head;
  if (sha256Hex(head) !== call.argumentsSha256) throw damagedError('the arguments');
  const { args } = parseRpcBody(head);
  if (!call.file) {
    for await (const chunk of parts.rest) if (chunk.length > 0) throw damagedError('the body');
    return { args };
  }
  return { args, path: await receiveTo(folder, parts.rest, call.file) };
}

/** Deletes received files of killed processes. */
export async function removeOldFiles(folder: string, clock: Clock): Promise<void> {
  const names = await readdir(folder).catch(() => []);
  for (const name of names.filter((one) => one.endsWith(RECEIVED))) {
    const path = join(folder, name);
    const file = await stat(path).catch(() => undefined);
    if (file && clock.now() - file.mtimeMs > HOUR_MS) await rm(path, { force: true });
  }
}

export function fileTooLarge(): TerminalError {
  return new TerminalError(
    'TooLarge',
    `the file is larger than ${SENT_FILE_BYTES_MAX / MEBIBYTE} MiB; split it`,
  );
}

/** Divides a stream into its first bytes and the rest. The head is complete before the rest is read. */
function splitAt(stream: AsyncIterable<Buffer>, headBytes: number) {
  const chunks = stream[Symbol.asyncIterator]();
  let over: Buffer = Buffer.alloc(0);
  async function readHead(): Promise<Buffer> {
    const parts: Buffer[] = [];
    let missing = headBytes;
    while (missing > 0) {
      const { done, value } = await chunks.next();
      if (done) break;
      parts.push(value.subarray(0, missing));
      over = value.subarray(missing);
      missing -= value.length;
    }
    return Buffer.concat(parts);
  }
  async function* rest(): AsyncGenerator<Buffer> {
    yield over;
    for (let next = await chunks.next(); !next.done; next = await chunks.next()) yield next.value;
  }
  return { head: readHead(), rest: rest() };
}

async function receiveTo(
  folder: string,
  stream: AsyncIterable<Buffer>,
  expected: NonNullable<ProcessCall['file']>,
): Promise<string> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const path = join(folder, `${randomUUID()}${RECEIVED}`);
  try {
    const file = await open(path, 'wx', 0o600);
    try {
      const hash = createHash('sha256');
      let bytes = 0;
      for await (const chunk of stream) {
        bytes += chunk.length;
        if (bytes > expected.bytes) throw damagedError('the file');
        hash.update(chunk);
        await file.writeFile(chunk);
      }
      if (bytes !== expected.bytes || hash.digest('hex') !== expected.sha256) throw damagedError('the file');
    } finally {
      await file.close();
    }
    return path;
  } catch (error) {
    await rm(path, { force: true });
    throw isDiskFull(error) ? diskFullError(folder, error) : error;
  }
}

function damagedError(what: string): TerminalError {
  return new TerminalError('DamagedCall', `${what} of a call are not what its token says; nothing was done`);
}
