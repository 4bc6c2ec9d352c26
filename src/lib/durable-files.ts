import { createHash, hash, randomUUID } from 'node:crypto';
import { closeSync, createReadStream, fsyncSync, openSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { copyFile, link, open, rename, rm, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { errorCode } from './errors.ts';
import { MEBIBYTE } from './units.ts';

/*
 * Files that survive a power cut. Small texts are written synchronously, because a thread costs more. Large
 * texts are written without blocking the event loop.
 */

/**
 * Writes a new file that only this user can read and write. Its name is durable after `syncFolder`.
 * @throws EEXIST if it exists
 */
export function writePrivateFile(path: string, text: string): void {
  const file = openSync(path, 'wx', 0o600);
  try {
    // On a full disk the first write is partial and the next one fails.
    writeFileSync(file, text);
    // The option `flush` is not used here, because Node 24 ignores it for a text with an encoding.
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

/** Replaces a file atomically: readers see the old or the new content, also after a crash. */
export function replaceFile(path: string, text: string): void {
  const draft = `${path}.${randomUUID()}.draft`;
  try {
    writePrivateFile(draft, text);
    renameSync(draft, path);
  } catch (error) {
    rmSync(draft, { force: true });
    throw error;
  }
  syncFolder(dirname(path));
}

/** The same for a long text, in pieces, so that the event loop stays free. */
export async function replaceFileInPieces(path: string, pieces: Iterable<string>): Promise<void> {
  const draft = `${path}.${randomUUID()}.draft`;
  try {
    await writeFile(draft, pieces, { flag: 'wx', mode: 0o600, flush: true });
    await rename(draft, path);
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
  await syncPath(dirname(path));
}

/** Makes the names in a folder durable. Syncing a file does not do that. */
export function syncFolder(path: string): void {
  const folder = openSync(path, 'r');
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}

/** Makes the content of a file, or the names in a folder, durable without blocking the event loop. */
export async function syncPath(path: string): Promise<void> {
  await using file = await open(path, 'r');
  await file.sync();
}

/**
 * Writes a new file that others can read if the umask lets them, and makes it durable without blocking the
 * event loop.
 * @throws EEXIST if it exists
 */
export async function writeSharedFile(path: string, text: string): Promise<void> {
  await writeFile(path, text, { flag: 'wx', flush: true });
}

/** SHA-256 of bytes, or of a text in UTF-8, hexadecimal. */
export function sha256Hex(bytes: Uint8Array | string): string {
  return hash('sha256', bytes, 'hex');
}

/** SHA-256 of a file, hexadecimal. */
export async function hashFile(path: string): Promise<string> {
  const sum = createHash('sha256');
  for await (const chunk of createReadStream(path, { highWaterMark: MEBIBYTE })) sum.update(chunk);
  return sum.digest('hex');
}

/** Errors of file systems without hard links, or with too many links. */
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

/**
 * Gives a file a second name: a hard link, or a copy if links are impossible. A name that exists stays as it
 * is. The copy appears as a whole.
 */
export async function linkOrCopyWhole(from: string, to: string): Promise<void> {
  try {
    await link(from, to);
  } catch (error) {
    if (errorCode(error) === 'EEXIST') return;
    if (!cannotLink(error)) throw error;
    const draft = `${to}.${randomUUID()}.draft`;
    try {
      await copyFile(from, draft);
      await syncPath(draft);
      await rename(draft, to);
    } catch (failure) {
      await rm(draft, { force: true });
      throw failure;
    }
  }
}
