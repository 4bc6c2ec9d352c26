import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';

const CHUNK_BYTES = 4 * 1024 * 1024;

/** SHA-256 of a file, hexadecimal. @param onBytes told how many bytes more have been read */
export async function contentHash(
  path: string,
  options: { signal: AbortSignal; onBytes: (bytes: number) => void },
): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(path, { highWaterMark: CHUNK_BYTES, signal: options.signal })) {
    hash.update(chunk as Buffer);
    options.onBytes((chunk as Buffer).length);
  }
  return hash.digest('hex');
}
