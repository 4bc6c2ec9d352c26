import { join } from 'node:path';
import { errorCode, TransientError } from '../lib/errors.ts';
import type { ObjectStore } from '../storage/object-store.ts';

export interface LocalObject {
  key: string;
  bytes: number;
  sha256: string;
}

const AT_A_TIME = 4;

/**
 * Copies files of a local lake into a store, a few at a time. After the first failure it begins no other copy.
 * @param onStored is called for each object that the store has
 * @throws TransientError `LakeChanged` if a file was deleted meanwhile, because a later generation does not need it
 */
export async function uploadObjects(
  store: ObjectStore,
  root: string,
  objects: readonly LocalObject[],
  { onStored, signal }: { onStored: (object: LocalObject) => void; signal?: AbortSignal },
): Promise<void> {
  const waiting = objects.values();
  const failed = new AbortController();
  const upload = async () => {
    for (const object of waiting) {
      if (failed.signal.aborted) return;
      const { key, bytes, sha256 } = object;
      const path = join(root, key);
      try {
        await store.put(key, { path, bytes, sha256 }, signal);
        onStored(object);
      } catch (error) {
        failed.abort();
        throw errorCode(error) === 'ENOENT'
          ? new TransientError('LakeChanged', `${path} was deleted while the lake was copied; try again`, {
              cause: error,
            })
          : error;
      }
    }
  };
  const results = await Promise.allSettled(Array.from({ length: AT_A_TIME }, upload));
  const failure = results.find((result) => result.status === 'rejected');
  if (failure) throw failure.reason;
}
