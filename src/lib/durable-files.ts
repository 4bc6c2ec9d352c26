import { randomUUID } from 'node:crypto';
import { closeSync, fsyncSync, openSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';

/** Small files that survive a power cut, written at once: for a few hundred bytes waiting in turn costs more. */

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
