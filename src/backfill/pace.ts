import { setTimeout as sleep } from 'node:timers/promises';

/** Keeps work at a rate: the returned function waits until what has been done so far was due. */
export function createPace(
  messagesPerSecond: number,
  now: () => number = () => performance.now(),
): (messages: number, signal: AbortSignal) => Promise<void> {
  let dueMs = now();
  return async (messages, signal) => {
    // Time in which nothing was done is not made up for.
    dueMs = Math.max(dueMs, now() - 1_000) + (messages / messagesPerSecond) * 1_000;
    const waitMs = dueMs - now();
    if (waitMs > 0) await sleep(waitMs, undefined, { signal });
  };
}
