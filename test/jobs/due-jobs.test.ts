import { expect, onTestFinished, test } from 'vitest';
import { createDueJobs } from '../../jobs/due-jobs.ts';
import type { JobOutcome, JobQueue } from '../../jobs/job-queue.ts';
import { openBackend } from '../../jobs/queue-backend.ts';
import type { Job, JobSchedule } from '../../jobs/stages.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { MINUTE_MS } from '../../src/lib/time.ts';
import { startRedis } from '../support/redis.ts';
import { tempDir } from '../support/temp-dir.ts';
import { createTestClock } from '../support/test-clock.ts';
import { until } from '../support/until.ts';

/** An export at this hour and minute of each day in UTC. */
const at = (hour: number, minute: number): JobSchedule => ({
  key: 'export:home:x',
  pattern: `${minute} ${hour} * * *`,
  timeZone: 'Etc/UTC',
  job: { stage: 'export', workgroupId: 'home' },
});

/** The jobs of a worker at 12:00, in a queue of Redis. `done` has what happened to it. */
async function setUp(isOpenedLate: boolean) {
  const redis = await startRedis();
  const config = { dataDir: tempDir(), queue: { backend: 'redis' as const, redisUrl: redis.url } };
  const backend = await openBackend({ config, logger: silentLogger });
  onTestFinished(async () => {
    await backend.close();
    await redis.stop();
  });
  const clock = createTestClock();
  const state = {
    rows: [at(12, 30)],
    isAway: false,
    whenOpen: Promise.resolve(),
    whenListed: Promise.resolve(),
  };
  const done: string[] = [];
  let consumer: ((job: Job) => Promise<JobOutcome>) | undefined;
  let hasEnded = false;
  async function openQueue(): Promise<JobQueue> {
    if (state.isAway) throw new Error('the store is away');
    done.push('open');
    await state.whenOpen;
    hasEnded = false;
    const queue = await backend.openQueue();
    return {
      ...queue,
      async schedules() {
        await state.whenListed;
        return queue.schedules();
      },
      consume(handler) {
        done.push('consume');
        consumer = handler;
      },
      hasEnded: () => hasEnded,
      close() {
        done.push('close');
        return queue.close();
      },
    };
  }
  const jobs = createDueJobs({
    openQueue,
    isOpenedLate,
    schedules: () => state.rows,
    handle: async ({ workgroupId }) => {
      done.push(`handle ${workgroupId}`);
      return 'here';
    },
    clock,
    logger: silentLogger,
  });
  return {
    state,
    clock,
    jobs,
    /** What a review does. */
    async review() {
      done.length = 0;
      await jobs.review();
      return done;
    },
    consume: (job: Job) => consumer!(job),
    endQueue: () => {
      hasEnded = true;
    },
    done,
  };
}

test('a queue that is opened late is open from 2 min before a job to 2 min after it, if no other one is near', async () => {
  const { clock, jobs, review } = await setUp(true);
  expect(await review()).toEqual([]);
  clock.leap(28 * MINUTE_MS - 1);
  expect(await review()).toEqual([]);
  clock.leap(1);
  expect(await review()).toEqual(['open', 'consume']);
  expect(jobs.isQueueOpen()).toBe(true);
  // The job was due at 12:30, so the last review that needed the queue was just before that.
  clock.leap(2 * MINUTE_MS - 1);
  expect(await review()).toEqual([]);
  clock.leap(2 * MINUTE_MS);
  expect(await review()).toEqual([]);
  clock.leap(1);
  expect(await review()).toEqual(['close']);
  expect(jobs.isQueueOpen()).toBe(false);
  expect(await review()).toEqual([]);
});

test('a queue is closed at once if its job is removed and the clock is set, and opened again for a new one', {
  tags: ['slow'],
}, async () => {
  const { state, clock, review } = await setUp(true);
  state.rows = [at(12, 1)];
  expect(await review()).toEqual(['open', 'consume']);
  state.rows = [];
  expect(await review()).toEqual([]);
  clock.set(clock.now() - 3 * MINUTE_MS);
  expect(await review()).toEqual(['close']);
  state.rows = [at(11, 58)];
  expect(await review()).toEqual(['open', 'consume']);
});

test('any other queue is open at all times', async () => {
  const { state, clock, review } = await setUp(false);
  expect(await review()).toEqual(['open', 'consume']);
  state.rows = [];
  clock.leap(60 * MINUTE_MS);
  expect(await review()).toEqual([]);
});

test('a queue that has ended is opened again, and one that cannot be opened is tried in the next review', async () => {
  const { state, review, endQueue } = await setUp(false);
  state.isAway = true;
  expect(await review()).toEqual([]);
  state.isAway = false;
  expect(await review()).toEqual(['open', 'consume']);
  endQueue();
  expect(await review()).toEqual(['open', 'consume']);
});

test('a job is handled, and after the end no queue is opened', async () => {
  const { jobs, review, consume, done } = await setUp(false);
  await review();
  expect(await consume({ stage: 'export', workgroupId: 'home' })).toBe('here');
  await jobs.close();
  expect(done.slice(-2)).toEqual(['handle home', 'close']);
  await review();
  expect(done).toEqual([]);
});

test('a queue that is still being opened at the end is closed, and gets no jobs', async () => {
  const { state, jobs, done } = await setUp(false);
  const { promise, resolve } = Promise.withResolvers<void>();
  state.whenOpen = promise;
  void jobs.review();
  const closing = jobs.close();
  resolve();
  await closing;
  expect(done).toEqual(['open', 'close']);
});

test('a queue whose schedules are being repaired at the end gets no jobs', async () => {
  const { state, jobs, done } = await setUp(false);
  const { promise, resolve } = Promise.withResolvers<void>();
  state.whenListed = promise;
  const reviewed = jobs.review();
  await until('the queue is open', () => jobs.isQueueOpen());
  const closing = jobs.close();
  resolve();
  await Promise.all([reviewed, closing]);
  expect(done).toEqual(['open', 'close']);
});
