import type { WorkerHealth } from '../../jobs/worker-health.ts';
import { troublesOf } from '../../jobs/worker-troubles.ts';
import type { Logger } from '../lib/logger.ts';
import { type Clock, SECOND_MS, type UtcMs } from '../lib/time.ts';
import type { StartTimer } from '../lib/timer.ts';
import { describeTrouble, type Trouble } from '../pipeline/trouble.ts';
import type { StatusBook } from '../pipeline/workgroup-status.ts';

const EVERY_MS = 2 * SECOND_MS;
/** Other processes read a status as running for 30 s. */
const REPEAT_MS = 10 * SECOND_MS;

/**
 * Writes the troubles of a worker to the status files of its workgroups. Logs each trouble once when it
 * begins and once when it ends.
 * @returns stops it
 */
export function tellTroubles(options: {
  health: () => WorkerHealth;
  status: StatusBook;
  clock: Clock;
  startTimer: StartTimer;
  logger: Logger;
}): () => void {
  const { health, status, clock, startTimer, logger } = options;
  const noted = new Map<string, { text: string; atMs: UtcMs }>();
  const logged = new Map<string, Trouble>();
  let stopTimer = startTimer(EVERY_MS, round);

  function round(): void {
    const worker = health();
    const nowMs = clock.now();
    const troubles = troublesOf(worker, nowMs);
    for (const { workgroupId, state } of worker.shards) {
      // The status of a shard that hibernates was written when it was closed.
      if (state === 'elsewhere' || state === 'hibernated') {
        noted.delete(workgroupId);
        continue;
      }
      const own = troubles
        .filter((one) => one.workgroupId === undefined || one.workgroupId === workgroupId)
        .map((one) => ({ ...one, workgroupId }));
      const text = JSON.stringify(own);
      const before = noted.get(workgroupId);
      if (before?.text === text && nowMs - before.atMs < REPEAT_MS) continue;
      noted.set(workgroupId, { text, atMs: nowMs });
      status.note(workgroupId, { troubles: own });
    }
    logChanges(troubles);
    stopTimer = startTimer(EVERY_MS, round);
  }

  function logChanges(troubles: readonly Trouble[]): void {
    const now = new Map(troubles.map((one) => [`${one.workgroupId} ${one.stage} ${one.state}`, one]));
    for (const [key, { workgroupId, stage, state, message }] of now) {
      if (!logged.has(key))
        logger.error({ workgroup: workgroupId, stage, state, error: message }, 'worker.trouble');
    }
    for (const [key, trouble] of logged) {
      const { workgroupId, stage, state } = trouble;
      if (!now.has(key))
        logger.warn(
          { workgroup: workgroupId, stage, state, was: describeTrouble(trouble) },
          'worker.trouble-over',
        );
    }
    logged.clear();
    for (const [key, trouble] of now) logged.set(key, trouble);
  }

  return () => stopTimer();
}
