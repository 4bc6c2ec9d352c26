import { expect, test } from 'vitest';
import type { JobOutcome, JobQueue } from '../../jobs/job-queue.ts';
import type { QueueBackend } from '../../jobs/queue-backend.ts';
import type { Job } from '../../jobs/stages.ts';
import { createWorkerJobs } from '../../jobs/worker-jobs.ts';
import { createWorkerReview } from '../../jobs/worker-review.ts';
import { configSchema } from '../../src/config/config.ts';
import { createWorkgroups } from '../../src/config/workgroups.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { createTestClock } from '../support/test-clock.ts';

/** The worker "me" with the shard "mine". Another worker, "you", has "yours". Nobody has "free". */
function setUp({ isThere = true } = {}) {
  const done: string[] = [];
  const ids = ['mine', 'yours', 'free'];
  const config = configSchema.parse({
    workgroups: ids.map((id) => ({ id, timezone: 'Etc/UTC' })),
    exports: ids.map((id) => ({
      id,
      workgroup: id,
      report: 'daily_energy',
      range: 'last_month',
      format: 'csv',
      schedule: '0 6 * * *',
      destination: { folder: '/tmp' },
    })),
  });
  let handle: ((job: Job) => Promise<JobOutcome>) | undefined;
  const queue: Partial<JobQueue> = {
    schedules: async () => [],
    schedule: async () => undefined,
    consume: (handler) => {
      handle = handler;
    },
    hasEnded: () => false,
    close: async () => undefined,
  };
  const backend = {
    kind: 'redis',
    workerId: 'me',
    openQueue: async () => queue,
    leases: {
      // What the store says of "mine" is old.
      ownerOf: async (id: string) => ({ mine: 'you', yours: 'you', closing: 'me' })[id],
      forget: async (id: string) => void done.push(`forget ${id}`),
    },
    channel: {
      tell: async (worker: string, message: string) => {
        done.push(`tell ${worker} ${message}`);
        return isThere;
      },
    },
    tidy: async () => void done.push('tidy'),
  } as unknown as QueueBackend;
  const workgroups = createWorkgroups(config);
  const jobs = createWorkerJobs({
    backend,
    workgroups,
    ownedShards: { isOwned: (id) => id === 'mine' },
    wakeUps: { noteDue: (id, stage) => void done.push(`${stage} of ${id} here`) },
    clock: createTestClock(),
    logger: silentLogger,
  });
  const review = createWorkerReview({
    backend,
    workgroups,
    overview: { newest: () => ({ free: ['free', 'gone'] }) as never },
    jobs,
    wakeUps: { assess: async (all) => void done.push(`assess ${all.join(' ')}`) },
    startup: { noteAssessed: () => void done.push('assessed') },
    logger: silentLogger,
  });
  return { done, jobs, review, handle: (job: Job) => handle!(job) };
}

const exportOf = (workgroupId: string): Job => ({ stage: 'export', workgroupId });

test('a job reaches the worker that has its shard, and is done here if nobody has it', async () => {
  const { done, jobs, handle } = setUp();
  await jobs.review();
  expect(await handle(exportOf('mine'))).toBe('here');
  expect(await handle(exportOf('yours'))).toBe('elsewhere');
  expect(await handle(exportOf('free'))).toBe('here');
  expect(await handle(exportOf('closing'))).toBe('here');
  expect(done).toEqual([
    'export of mine here',
    'tell you {"stage":"export","workgroupId":"yours"}',
    'export of free here',
    'export of closing here',
  ]);
});

test('a job is done here if the worker that has its shard is not there', async () => {
  const { done, jobs, handle } = setUp({ isThere: false });
  await jobs.review();
  expect(await handle(exportOf('yours'))).toBe('here');
  expect(done.at(-1)).toBe('export of yours here');
});

test('a review assesses all workgroups, forgets those that are not configured, and tidies the store', async () => {
  const { done, review } = setUp();
  await review.run({ isClockSet: false });
  expect(done).toEqual(['assess mine yours free', 'assessed', 'forget gone', 'tidy']);
});

test('after the clock was set, each job is handled as if it was due', async () => {
  const { done, review } = setUp();
  await review.run({ isClockSet: true });
  expect(done.slice(0, 3)).toEqual([
    'export of mine here',
    'tell you {"stage":"export","workgroupId":"yours"}',
    'export of free here',
  ]);
  expect(done).toContain('tidy');
});
