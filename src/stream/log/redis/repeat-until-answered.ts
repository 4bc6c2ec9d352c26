import { setTimeout as sleep } from 'node:timers/promises';
import { TransientError } from '../../../lib/errors.ts';
import { SECOND_MS } from '../../../lib/time.ts';
import type { RedisConnection } from '../../../redis/redis-connection.ts';

/** A script is sent again for this long if its answer was lost. Redis must keep the answer for longer. */
const REPEAT_TIMEOUT_MS = 10 * SECOND_MS;
const REPEAT_PAUSE_MS = 10;

/**
 * Runs a script, and runs it again if the connection broke before its answer. The script must return the same
 * answer again.
 * @throws TransientError RedisAnswerLost if there was no answer in time, and all other errors at once
 */
export async function repeatUntilAnswered<Answer>(
  redis: RedisConnection,
  send: () => Promise<Answer>,
): Promise<Answer> {
  const deadline = performance.now() + REPEAT_TIMEOUT_MS;
  for (;;) {
    try {
      return await send();
    } catch (error) {
      if (!(error instanceof TransientError && error.code === 'RedisAnswerLost')) throw error;
      await sleep(REPEAT_PAUSE_MS);
      await waitUntilReady(redis, deadline - performance.now());
      if (!redis.isReady || performance.now() > deadline) throw error;
    }
  }
}

/** Resolves when the connection is ready or the time is over. */
function waitUntilReady(redis: RedisConnection, withinMs: number): Promise<void> {
  if (redis.isReady || withinMs <= 0) return Promise.resolve();
  return new Promise((resolve) => {
    const finish = () => {
      clearTimeout(timer);
      removeListener();
      resolve();
    };
    const timer = setTimeout(finish, withinMs);
    const removeListener = redis.onReady(() => {
      if (redis.isReady) finish();
    });
  });
}
