import { setTimeout as sleep } from 'node:timers/promises';

/** Limits work to a rate: the returned function waits until the rate allows more. */
export function createPace(
  messagesPerSecond: number,
  now: () => number = () => performance.now(),
): (messages: number, signal: AbortSignal) => Promise<void> {
  let dueMs = now();
  return async (messages, signal) => {
    // At most one second of idle time is made up for.
    dueMs = Math.max(dueMs, now() - 1_000) + (messages / messagesPerSecond) * 1_000;
    const waitMs = dueMs - now();
    if (waitMs > 0) await sleep(waitMs, undefined, { signal });
  };
}
