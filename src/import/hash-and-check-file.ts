import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip, createZstdDecompress } from 'node:zlib';
import { MEBIBYTE } from '../lib/units.ts';
import { fileKind } from './file-kind.ts';
import { checkFirstBytes } from './first-bytes.ts';
import { fileProblem } from './open-reader.ts';
import { zstdFrames } from './zstd-frames.ts';

const CHUNK_BYTES = MEBIBYTE;

/**
 * SHA-256 of a file, hexadecimal. A packed file is also unpacked once to check it, because DuckDB does not
 * notice that a packed file is cut off.
 * @param options.onBytes called with the number of bytes of each chunk
 * @throws InputError if a packed file is damaged or cut off
 */
export async function hashAndCheckFile(
  path: string,
  options: { signal: AbortSignal; onBytes: (bytes: number) => void },
): Promise<string> {
  const hash = createHash('sha256');
  async function* taken(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    for await (const chunk of chunks) {
      hash.update(chunk);
      options.onBytes(chunk.length);
      yield chunk;
    }
  }
  const nowhere = () => new Writable({ write: (_chunk, _encoding, done) => done() });
  const { compression } = fileKind(path);
  const { signal } = options;
  const read = (part?: { start: number; end: number }) =>
    createReadStream(path, {
      highWaterMark: CHUNK_BYTES,
      ...(part && { start: part.start, end: part.end - 1 }),
    });
  async function unpackAll(): Promise<void> {
    if (compression === 'none') await pipeline(read(), taken, nowhere(), { signal });
    else if (compression === 'gzip') await pipeline(read(), taken, createGunzip(), nowhere(), { signal });
    else
      for await (const frame of zstdFrames(path))
        await pipeline(read(frame), taken, createZstdDecompress(), nowhere(), { signal });
  }
  await unpackAll().catch((error: NodeJS.ErrnoException) => {
    const isDamaged = /^(Z_|ZSTD_)/.test(error.code ?? '');
    throw isDamaged ? fileProblem(path, `is damaged or cut off: ${error.message}`) : error;
  });
  return hash.digest('hex');
}

/** @throws InputError if a packed file is damaged or cut off */
export async function checkPackedFile(path: string, signal: AbortSignal): Promise<void> {
  const { format = 'csv', compression } = fileKind(path);
  if (compression === 'none') return;
  await checkFirstBytes(path, format, compression);
  await hashAndCheckFile(path, { signal, onBytes: () => undefined });
}
