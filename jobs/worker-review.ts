import type { Workgroups } from '../src/config/workgroups.ts';
import { errorMessage } from '../src/lib/errors.ts';
import type { Logger } from '../src/lib/logger.ts';
import type { QueueBackend } from './queue-backend.ts';
import type { ShardOverview } from './shard-overview.ts';
import type { WakeUps } from './wake-ups.ts';
import type { WorkerJobs } from './worker-jobs.ts';
import type { WorkerStartup } from './worker-startup.ts';

/** What a worker checks again each minute, because news, jobs and messages can be lost. */
interface WorkerReview {
  /** Assesses all closed shards. */
  assessAll(): Promise<void>;
  /**
   * Repairs the schedules, assesses all closed shards, and removes from the store what nobody needs.
   * @param how `isClockSet`: jobs between the old and the new time may be missed, so each job is handled, too
   */
  run(how: { isClockSet: boolean }): Promise<void>;
}

interface WorkerReviewOptions {
  backend: Pick<QueueBackend, 'leases' | 'tidy'>;
  workgroups: Pick<Workgroups, 'get' | 'list'>;
  overview: Pick<ShardOverview, 'newest'>;
  jobs: WorkerJobs;
  wakeUps: Pick<WakeUps, 'assess'>;
  startup: Pick<WorkerStartup, 'noteAssessed'>;
  logger: Logger;
}

export function createWorkerReview(options: WorkerReviewOptions): WorkerReview {
  const { backend, workgroups, overview, jobs, wakeUps, startup, logger } = options;

  async function assessAll(): Promise<void> {
    await wakeUps.assess(workgroups.list().map(({ id }) => id));
    startup.noteAssessed();
  }

  return {
    assessAll,
    async run({ isClockSet }) {
      await jobs.review();
      if (isClockSet) await jobs.handleAll();
      await assessAll();
      try {
        for (const workgroupId of overview.newest().free)
          if (!workgroups.get(workgroupId)) await backend.leases.forget(workgroupId);
        await backend.tidy();
      } catch (error) {
        logger.warn({ error: errorMessage(error) }, 'queue.tidy-failed');
      }
    },
  };
}
