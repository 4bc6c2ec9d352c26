import { chmod, copyFile, mkdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { syncPath } from '../lib/durable-files.ts';
import { errorCode, errorMessage, TransientError } from '../lib/errors.ts';
import { handedOverMode } from '../lib/private-files.ts';
import { fromDiskError } from './disk-error.ts';
import type { Outgoing } from './outgoing.ts';

/** Whoever watches the folder sees the file whole or not at all. */
export async function deliverToFolder(folder: string, { path, name }: Outgoing): Promise<string> {
  const target = join(folder, name);
  // One name for all attempts, so that one that was killed leaves nothing behind.
  const draft = join(folder, `.${name}.part`);
  try {
    await mkdir(folder, { recursive: true });
    await copyFile(path, draft);
    // Whoever takes it from there is another user as a rule; what we keep is private.
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
      `${folder} cannot be written to (${errorCode(error) ?? errorMessage(error)}); look at the folder and its rights`,
      { cause: error },
    );
  }
}
