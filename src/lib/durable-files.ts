import { createHash, randomUUID } from 'node:crypto';
import { closeSync, createReadStream, fsyncSync, openSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { copyFile, link, open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { errorCode } from './errors.ts';

/*
 * Files that survive a power cut. A few hundred bytes are written at once, because giving them to another thread costs more; what may be
 * large is synced without holding up the event loop.
 */

/** Writes a new file that only its owner can read. Its name is durable once `syncFolder` was called. @throws EEXIST where there is one */
export function writeNewFile(path: string, text: string): void {
  const file = openSync(path, 'wx', 0o600);
  try {
    // A disk that fills up takes a part of what is written at once, and says so at the next.
    writeFileSync(file, text);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

/** Writes a file, in the place of the one there is: whoever reads it, also after a crash, reads the one or the other whole. */
export function replaceFile(path: string, text: string): void {
  const draft = `${path}.${randomUUID()}.draft`;
  try {
    writeNewFile(draft, text);
    renameSync(draft, path);
  } catch (error) {
    rmSync(draft, { force: true });
    throw error;
  }
  syncFolder(dirname(path));
}

/** The same for a long text, written piece by piece, so that others get their turn in between. */
export async function replaceFileInPieces(path: string, pieces: Iterable<string>): Promise<void> {
  const draft = `${path}.${randomUUID()}.draft`;
  try {
    const file = await open(draft, 'wx', 0o600);
    try {
      for (const piece of pieces) await file.writeFile(piece);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(draft, path);
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
  const folder = await open(dirname(path), 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

/** Makes the names in a folder durable, which syncing a file in it does not. */
export function syncFolder(path: string): void {
  const folder = openSync(path, 'r');
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}

/** Makes the content of a file, or the names in a folder, durable without holding up the event loop. */
export async function syncPath(path: string): Promise<void> {
  await using file = await open(path, 'r');
  await file.sync();
}

/** Writes a new file and makes it durable, without holding up the event loop. @throws EEXIST when there is one */
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
