import { chmod, copyFile, mkdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { syncPath } from '../lib/durable-files.ts';
import { errorCode, errorMessage, TransientError } from '../lib/errors.ts';
import { handedOverMode } from '../lib/private-files.ts';
import { fromDiskError } from './disk-error.ts';
import type { Outgoing } from './outgoing.ts';

/** Writes the file atomically: a reader of the folder never sees a part of it. */
export async function deliverToFolder(folder: string, { path, name }: Outgoing): Promise<string> {
  const target = join(folder, name);
  // All attempts use one name, so a killed attempt leaves no second file.
  const draft = join(folder, `.${name}.part`);
  try {
    await mkdir(folder, { recursive: true });
    await copyFile(path, draft);
    // The reader of the folder is usually another user. Our own files are private.
    await chmod(draft, handedOverMode());
    await syncPath(draft);
    await rename(draft, target);
    await syncPath(folder);
    return target;
  } catch (error) {
    await rm(draft, { force: true }).catch(() => undefined);
    const full = fromDiskError(error, folder);
    if (full !== error) throw full;
    throw new TransientError(
      'DestinationFailed',
      `${folder} cannot be written (${errorCode(error) ?? errorMessage(error)}); check the folder and its permissions`,
      { cause: error },
    );
  }
}
