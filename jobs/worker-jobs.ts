import type { Workgroups } from '../src/config/workgroups.ts';
import type { Logger } from '../src/lib/logger.ts';
import type { Clock } from '../src/lib/time.ts';
import { createDueJobs, type DueJobs } from './due-jobs.ts';
import type { JobOutcome } from './job-queue.ts';
import { jobSchedules } from './job-schedules.ts';
import type { OwnedShards } from './owned-shards.ts';
import type { QueueBackend } from './queue-backend.ts';
import type { Job } from './stages.ts';
import type { WakeUps } from './wake-ups.ts';

/** The jobs by the time of day. Each reaches the worker that has its shard. */
export interface WorkerJobs extends Pick<DueJobs, 'review' | 'close'> {
  /** Handles every configured job once, as if it was due now. Never throws. */
  handleAll(): Promise<void>;
}

interface WorkerJobsOptions {
  backend: QueueBackend;
  workgroups: Workgroups;
  ownedShards: Pick<OwnedShards, 'isOwned'>;
  wakeUps: Pick<WakeUps, 'noteDue'>;
  /** The clock of the machine, because schedules are by time of day. */
  clock: Clock;
  logger: Logger;
}

export function createWorkerJobs(options: WorkerJobsOptions): WorkerJobs {
  const { backend, workgroups, ownedShards, wakeUps, clock, logger } = options;
  const { workerId, leases, channel } = backend;

  function schedules() {
    const all = workgroups.list();
    const exports = all.flatMap(({ id }) => workgroups.exportsOf(id));
    return jobSchedules({ workgroups: all, exports });
  }

  async function passToOwner(job: Job): Promise<JobOutcome> {
    const { workgroupId, stage } = job;
    const owner = ownedShards.isOwned(workgroupId) ? workerId : await leases.ownerOf(workgroupId);
    if (owner !== undefined && owner !== workerId && (await channel.tell(owner, JSON.stringify(job))))
      return 'elsewhere';
    wakeUps.noteDue(workgroupId, stage);
    return 'here';
  }

  const { openQueue, kind } = backend;
  const isOpenedLate = kind === 'pglite';
  const dueJobs = createDueJobs({ openQueue, isOpenedLate, schedules, handle: passToOwner, clock, logger });

  return {
    review: dueJobs.review,
    close: dueJobs.close,
    async handleAll() {
      for (const { job } of schedules()) await passToOwner(job).catch(() => undefined);
    },
  };
}
