import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { copyFile, link, open } from 'node:fs/promises';

/** Makes the content of a file survive a power cut. */
export async function syncFile(path: string): Promise<void> {
  await using file = await open(path, 'r');
  await file.sync();
}

/** Makes the names in a folder survive a power cut. */
export const syncFolder = syncFile;

/** Writes a new file and makes it durable. @throws EEXIST when there is one */
export async function writeDurably(path: string, text: string): Promise<void> {
  await using file = await open(path, 'wx');
  await file.writeFile(text);
  await file.sync();
}

/** SHA-256 of a file, in hexadecimal. */
export async function hashFile(path: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(path, { highWaterMark: 1024 * 1024 })) hash.update(chunk);
  return hash.digest('hex');
}

/** Errors of file systems that cannot link, or cannot link this file once more. */
const CANNOT_LINK: ReadonlySet<string | undefined> = new Set([
  'EPERM',
  'ENOTSUP',
  'EOPNOTSUPP',
  'ENOSYS',
  'EMLINK',
  'EXDEV',
]);

export function cannotLink(error: unknown): boolean {
  return CANNOT_LINK.has(errorCode(error));
}

/** The same content under a second name: a hard link, or a copy where links are impossible. @throws EEXIST */
export async function linkOrCopy(from: string, to: string): Promise<void> {
  try {
    await link(from, to);
  } catch (error) {
    if (!cannotLink(error)) throw error;
    await copyFile(from, to);
  }
}

/** The code of a failed file operation, such as ENOENT; undefined for anything else. */
export function errorCode(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}
