import { createHash, randomUUID } from 'node:crypto';
import { mkdir, open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { diskFullError, isDiskFull } from '../lib/disk-full.ts';
import { syncPath } from '../lib/durable-files.ts';
import { formatCount } from '../lib/format-count.ts';
import type { ExpectedObject } from './object-store.ts';

interface ReceiveOptions {
  damagedError(what: string): Error;
  signal?: AbortSignal;
}

/**
 * Writes a stream to a file next to `path`, checks its size and SHA-256, makes it durable and renames it to
 * `path`.
 * @throws the error of `damagedError` if the bytes are not the expected ones; then `path` has not changed
 * @throws TransientError `DiskFull`
 */
export async function receiveFile(
  stream: AsyncIterable<Uint8Array>,
  path: string,
  expected: ExpectedObject,
  { damagedError, signal }: ReceiveOptions,
): Promise<void> {
  const draft = `${path}.${randomUUID()}.part`;
  try {
    await mkdir(dirname(path), { recursive: true });
    const file = await open(draft, 'wx');
    try {
      const hash = createHash('sha256');
      let bytes = 0;
      for await (const chunk of stream) {
        signal?.throwIfAborted();
        bytes += chunk.length;
        if (bytes > expected.bytes)
          throw damagedError(`it has more than the noted ${bytesInWords(expected.bytes)}`);
        hash.update(chunk);
        await file.writeFile(chunk);
      }
      if (bytes !== expected.bytes)
        throw damagedError(`it has ${bytesInWords(bytes)} instead of ${bytesInWords(expected.bytes)}`);
      if (hash.digest('hex') !== expected.sha256)
        throw damagedError('its SHA-256 differs from the recorded one');
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(draft, path);
  } catch (error) {
    await rm(draft, { force: true });
    if (isDiskFull(error)) throw diskFullError(path, error);
    throw error;
  }
  await syncPath(dirname(path));
}

function bytesInWords(bytes: number): string {
  return `${formatCount(bytes)} bytes`;
}
