import { join } from 'node:path';
import { isMissing, TransientError } from '../lib/errors.ts';
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
  await runAtATime(objects, async (object) => {
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

/** Works on items, four at a time. After the first failure it begins no other item. @throws the first failure, after all begun work has ended */
export async function runAtATime<Item>(
  items: readonly Item[],
  work: (item: Item) => Promise<void>,
): Promise<void> {
  const waiting = items.values();
  let hasFailed = false;
  const workOn = async () => {
    for (const item of waiting) {
      if (hasFailed) return;
      try {
        await work(item);
      } catch (error) {
        hasFailed = true;
        throw error;
      }
    }
  };
  const results = await Promise.allSettled(Array.from({ length: AT_A_TIME }, workOn));
  const failure = results.find((result) => result.status === 'rejected');
  if (failure) throw failure.reason;
}

export function lakeChanged(path: string, cause: unknown): TransientError {
  return new TransientError('LakeChanged', `${path} was deleted while the lake was copied; try again`, {
    cause,
  });
}
