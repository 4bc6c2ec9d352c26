import { setTimeout as sleep } from 'node:timers/promises';
import { TransientError } from '../lib/errors.ts';
import { growingWaitMs } from '../lib/growing-wait.ts';
import type { ObjectStore } from './object-store.ts';

/**
 * `created`: the object is ours. `taken`: another writer was first; `bytes` is its object. `unknown`: the
 * store did not answer clearly; the object can still appear. Ask again with the same bytes before anything
 * else is created.
 */
export type CreateOutcome =
  | { kind: 'created' }
  | { kind: 'taken'; bytes: Buffer }
  | { kind: 'unknown'; cause: TransientError };

interface CreateOnceOptions {
  key: string;
  /** Must contain something random, because equal bytes mean the same writer. */
  bytes: Uint8Array;
  /** Default: 5. */
  attemptsMax?: number;
  /** The pause after the first failure. It doubles with each failure. Default: 200. */
  pauseMs?: number;
  signal?: AbortSignal;
}

/**
 * Creates an object that only one writer can create, even if answers are lost. After a lost answer it reads
 * the object: if it has our bytes, the creation has succeeded. If the key is free, it sends the same creation
 * again, which is safe, because only one of the two can succeed.
 * @throws TerminalError if the store refuses (keys, permissions)
 */
export async function createOnce(store: ObjectStore, options: CreateOnceOptions): Promise<CreateOutcome> {
  const { key, bytes, attemptsMax = 5, pauseMs = 200, signal } = options;
  let cause: TransientError | undefined;
  for (let attempt = 0; attempt < attemptsMax; attempt++) {
    if (attempt > 0) await sleep(growingWaitMs(attempt, pauseMs), undefined, { signal });
    try {
      if ((await store.createKey(key, bytes, signal)) === 'created') return { kind: 'created' };
      const found = await store.get(key, { signal });
      if (found !== undefined)
        return found.equals(bytes) ? { kind: 'created' } : { kind: 'taken', bytes: found };
      // The object was deleted between the two requests.
    } catch (error) {
      if (!(error instanceof TransientError)) throw error;
      cause = error;
    }
  }
  cause ??= new TransientError(
    'StorageBusy',
    `${store.address}/${key} was created and deleted again and again`,
  );
  return { kind: 'unknown', cause };
}
