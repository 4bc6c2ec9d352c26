import { setTimeout as sleep } from 'node:timers/promises';
import { TransientError } from '../lib/errors.ts';
import { SECOND_MS } from '../lib/time.ts';
import type { Service } from './service.ts';

/**
 * After a restart of a machine or of a cluster, Redis, the stream and the bucket can be ready later than this
 * process.
 */
const START_WAIT_MS = 30 * SECOND_MS;
const RETRY_PAUSE_MS = 500;
/**
 * The codes of the errors of a start that succeeds when Redis, the stream or the bucket can be reached again.
 */
const CODES = new Set([
  'QueueUnreachable',
  'RedisUnreachable',
  'RedisAnswerLost',
  'StreamUnreachable',
  'RevocationsUnknown',
]);

/**
 * Starts something that needs Redis, the stream of another process or a bucket. If one of these cannot be
 * reached, the start is repeated for up to 30 s. A short outage then does not end the process. The first
 * failure is logged at once.
 * @returns undefined if the process must end before that
 * @throws the last error after that time, and every other error at once
 */
export async function startWhenReachable<Started>(
  start: () => Promise<Started>,
  {
    signal,
    logger,
    patienceMs = START_WAIT_MS,
  }: Pick<Service, 'signal' | 'logger'> & { patienceMs?: number },
): Promise<Started | undefined> {
  const untilMs = performance.now() + patienceMs;
  for (let attempt = 1; !signal.aborted; attempt++) {
    try {
      return await start();
    } catch (error) {
      if (!isUnreachable(error) || performance.now() + RETRY_PAUSE_MS > untilMs) throw error;
      if (attempt === 1)
        logger.warn({ error: error.message, forSeconds: patienceMs / SECOND_MS }, 'start.waiting');
    }
    await sleep(RETRY_PAUSE_MS, undefined, { signal }).catch(() => undefined);
  }
  return undefined;
}

function isUnreachable(error: unknown): error is TransientError {
  return error instanceof TransientError && CODES.has(error.code);
}
