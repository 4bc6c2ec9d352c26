import { nextCronInstant, parseCron } from '../src/lib/cron.ts';
import { errorMessage } from '../src/lib/errors.ts';
import type { Logger } from '../src/lib/logger.ts';
import { shareNextRun } from '../src/lib/share-next-run.ts';
import { type Clock, MINUTE_MS, SECOND_MS, type UtcMs } from '../src/lib/time.ts';
import { withTimeout } from '../src/lib/with-timeout.ts';
import type { JobOutcome, JobQueue } from './job-queue.ts';
import { reconcileSchedules } from './reconcile-schedules.ts';
import type { Job, JobSchedule } from './stages.ts';

/** The jobs that are due at a time of day. */
export interface DueJobs {
  /**
   * Opens or closes the queue, and repairs the schedules. To be called every minute. Concurrent calls share a
   * review.
   */
  review(): Promise<void>;
  isQueueOpen(): boolean;
  close(): Promise<void>;
}

interface DueJobsOptions {
  openQueue(): Promise<JobQueue>;
  /**
   * True if the queue is open only around the time of a job. The embedded queue needs a process with 270 MB
   * of memory, and 1.5 s of CPU time to open. It keeps nothing that is not set up again.
   */
  isOpenedLate: boolean;
  schedules: () => readonly JobSchedule[];
  handle: (job: Job) => Promise<JobOutcome>;
  /** The clock of the machine, because schedules are by time of day. */
  clock: Clock;
  logger: Logger;
}

/**
 * A queue that is not always open is opened this long before a job. It is closed if the last job was longer
 * ago than this, and the next job is further away than this.
 */
const AHEAD_MS = 2 * MINUTE_MS;
/** A queue that takes longer to open ends with the process. */
const CLOSE_TIMEOUT_MS = 3 * SECOND_MS;

export function createDueJobs(options: DueJobsOptions): DueJobs {
  const { openQueue, isOpenedLate, schedules, handle, clock, logger } = options;
  let queue: JobQueue | undefined;
  let neededAtMs: UtcMs | undefined;
  let isClosed = false;

  function isNeeded(): boolean {
    if (!isOpenedLate) return true;
    const nowMs = clock.now();
    if (schedules().some((row) => (nextInstant(row, nowMs) ?? Infinity) - nowMs <= AHEAD_MS)) {
      neededAtMs = nowMs;
      return true;
    }
    return neededAtMs !== undefined && Math.abs(nowMs - neededAtMs) <= AHEAD_MS;
  }

  const review = shareNextRun(async () => {
    if (isClosed) return;
    try {
      if (!isNeeded()) {
        const idle = queue;
        queue = undefined;
        await idle?.close();
        return;
      }
      if (queue?.hasEnded()) queue = undefined;
      const isNew = queue === undefined;
      queue ??= await openQueue();
      // The end came while it was being opened.
      if (isClosed) return void (await queue.close());
      const changes = await reconcileSchedules(queue, schedules(), clock.now());
      if (isNew && !isClosed) queue.consume(handle);
      const counts = Object.entries(changes).map(([what, keys]) => [what, keys.length] as const);
      if (counts.some(([, count]) => count > 0))
        logger.info(Object.fromEntries(counts), 'schedule.reconciled');
    } catch (error) {
      logger.warn({ error: errorMessage(error) }, 'schedule.review-failed');
    }
  });

  return {
    review,
    isQueueOpen: () => queue !== undefined,
    async close() {
      isClosed = true;
      await queue?.close();
      // A review may still be opening the queue.
      await withTimeout(review(), CLOSE_TIMEOUT_MS);
    },
  };
}

function nextInstant({ pattern, timeZone }: JobSchedule, nowMs: UtcMs): UtcMs | undefined {
  const cron = parseCron(pattern);
  return typeof cron === 'string' ? undefined : nextCronInstant(cron, timeZone, nowMs);
}
