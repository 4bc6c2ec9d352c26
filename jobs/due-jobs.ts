import { errorMessage } from '../src/lib/errors.ts';
import type { Logger } from '../src/lib/logger.ts';
import { oneAtATime } from '../src/lib/one-at-a-time.ts';
import type { Clock } from '../src/lib/time.ts';
import type { JobOutcome, JobQueue } from './job-queue.ts';
import { reconcileSchedules } from './reconcile-schedules.ts';
import type { Job, JobSchedule } from './stages.ts';

/** The jobs that are due at a time of day. */
export interface DueJobs {
  /** Repairs the schedules. Concurrent calls share a review. */
  review(): Promise<void>;
  close(): Promise<void>;
}

/** Sets up the schedules and starts to take jobs. */
export function startDueJobs(options: {
  queue: JobQueue;
  schedules: () => readonly JobSchedule[];
  handle: (job: Job) => Promise<JobOutcome>;
  /** The clock of the machine, because schedules are by time of day. */
  clock: Clock;
  logger: Logger;
}): DueJobs {
  const { queue, schedules, handle, clock, logger } = options;
  let isClosed = false;

  const review = oneAtATime(async () => {
    if (isClosed) return;
    try {
      const changes = await reconcileSchedules(queue, schedules(), clock.now());
      const counts = Object.entries(changes).map(([what, keys]) => [what, keys.length] as const);
      if (counts.some(([, count]) => count > 0))
        logger.info(Object.fromEntries(counts), 'schedule.reconciled');
    } catch (error) {
      logger.warn({ error: errorMessage(error) }, 'schedule.review-failed');
    }
  });

  void review();
  queue.consume(handle);
  return {
    review,
    async close() {
      isClosed = true;
      await queue.close();
    },
  };
}
