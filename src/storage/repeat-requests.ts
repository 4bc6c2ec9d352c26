import { setTimeout as sleep } from 'node:timers/promises';
import { TransientError } from '../lib/errors.ts';
import { growingWaitMs } from '../lib/growing-wait.ts';
import { SECOND_MS } from '../lib/time.ts';
import type { ListedObject, ListOptions, ObjectStore } from './object-store.ts';

const REPEAT_FOR_MS = 5 * SECOND_MS;

interface RepeatOptions {
  /**
   * No repetition begins later than this after the first request. Default: 5 s, so a request that hangs is
   * not repeated.
   */
  patienceMs?: number;
  /** The pause before the first repetition. It doubles each time. Default: 100 ms. */
  pauseMs?: number;
}

/**
 * Repeats requests that failed for a moment. A restore reads many objects, and would start again with each
 * lost answer. Only `createKey` is not repeated, because its repetition could look like the creation of
 * another writer; use `createOnce`.
 */
export function repeatRequests(store: ObjectStore, options: RepeatOptions = {}): ObjectStore {
  const { patienceMs = REPEAT_FOR_MS, pauseMs = 100 } = options;

  /** Waits before the next attempt. @throws the error if there is none */
  async function pauseAfter(
    error: unknown,
    attempt: Attempt,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    attempt.failures++;
    const waitMs = growingWaitMs(attempt.failures, pauseMs);
    const isLate = performance.now() + waitMs > attempt.beganAtMs + patienceMs;
    if (signal?.aborted || isLate || !(error instanceof TransientError)) throw error;
    await sleep(waitMs, undefined, { signal });
  }

  async function repeated<Result>(
    action: () => Promise<Result>,
    signal: AbortSignal | undefined,
  ): Promise<Result> {
    const attempt = newAttempt();
    for (;;) {
      try {
        return await action();
      } catch (error) {
        await pauseAfter(error, attempt, signal);
      }
    }
  }

  async function* list(prefix: string, listOptions: ListOptions = {}): AsyncGenerator<ListedObject> {
    const rest = { ...listOptions };
    let attempt = newAttempt();
    for (;;) {
      try {
        for await (const object of store.list(prefix, rest)) {
          rest.startAfter = object.key;
          if (rest.keysMax !== undefined) rest.keysMax -= 1;
          yield object;
          attempt = newAttempt();
        }
        return;
      } catch (error) {
        await pauseAfter(error, attempt, listOptions.signal);
      }
    }
  }

  return {
    address: store.address,
    createKey: store.createKey,
    put: (key, content, signal) => repeated(() => store.put(key, content, signal), signal),
    get: (key, getOptions) => repeated(() => store.get(key, getOptions), getOptions?.signal),
    getRange: (key, start, length, signal) =>
      repeated(() => store.getRange(key, start, length, signal), signal),
    download: (key, path, expected, signal) =>
      repeated(() => store.download(key, path, expected, signal), signal),
    list,
    remove: (key, signal) => repeated(() => store.remove(key, signal), signal),
  };
}

interface Attempt {
  beganAtMs: number;
  failures: number;
}

function newAttempt(): Attempt {
  return { beganAtMs: performance.now(), failures: 0 };
}
