import { join } from 'node:path';
import { isMissing, TransientError } from '../lib/errors.ts';
import { runAtATime } from '../lib/run-at-a-time.ts';
import type { ObjectStore } from '../storage/object-store.ts';

export interface LocalObject {
  key: string;
  bytes: number;
  sha256: string;
}

export const UPLOADS_AT_A_TIME = 4;

/**
 * Copies files of a local lake into a store, a few at a time. After the first failure it begins no other
 * copy.
 * @param onStored is called for each object that the store has
 * @throws TransientError `LakeChanged` if a file was deleted meanwhile, because a later generation does not
 *   need it
 */
export async function uploadObjects(
  store: ObjectStore,
  root: string,
  objects: readonly LocalObject[],
  { onStored, signal }: { onStored: (object: LocalObject) => void; signal?: AbortSignal },
): Promise<void> {
  await runAtATime(objects, UPLOADS_AT_A_TIME, async (object) => {
    const { key, bytes, sha256 } = object;
    const path = join(root, key);
    try {
      await store.put(key, { path, bytes, sha256 }, signal);
    } catch (error) {
      throw isMissing(error) ? lakeChanged(path, error) : error;
    }
    onStored(object);
  });
}

export function lakeChanged(path: string, cause: unknown): TransientError {
  return new TransientError('LakeChanged', `${path} was deleted while the lake was copied; try again`, {
    cause,
  });
}
