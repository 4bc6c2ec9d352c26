import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import type { JobQueue } from '../../jobs/job-queue.ts';
import { jobSchedules } from '../../jobs/job-schedules.ts';
import { openBackend, type QueueBackend } from '../../jobs/queue-backend.ts';
import { reconcileSchedules } from '../../jobs/reconcile-schedules.ts';
import type { Job, JobSchedule } from '../../jobs/stages.ts';
import { configSchema } from '../../src/config/config.ts';
import { type CronPattern, nextCronInstant, parseCron } from '../../src/lib/cron.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../src/lib/time.ts';
import { seedQueueImage } from '../support/queue-image.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';
import { isFull, isSoak } from '../support/rounds.ts';
import { until } from '../support/until.ts';

const unchanged = { added: [], changed: [], repaired: [], removed: [] };
const everySecond = '* * * * * *';

function exporting(schedule?: string, timezone?: string) {
  const config = configSchema.parse({
    workgroups: [{ id: 'home', timezone: 'Europe/Berlin' }],
    exports: [
      {
        id: 'billing',
        workgroup: 'home',
        report: 'daily_energy',
        range: 'last_month',
        format: 'csv',
        destination: { folder: 'out' },
        ...(schedule && { schedule }),
        ...(timezone && { timezone }),
      },
    ],
  });
  return jobSchedules(config);
}

test('only an export with a schedule is a job, so that the embedded queue is not opened for anything else', () => {
  expect(exporting()).toEqual([]);
  expect(exporting('30 2 * * *').map(({ key }) => key)).toEqual(['export:home:billing']);
});

/** The start of an embedded queue takes seven seconds of the processor. */
const backends = isFull ? (['redis', 'pglite'] as const) : (['redis'] as const);

describe.each(backends)('on %s', (kind) => {
  let dataDir: string;
  let redis: TestRedis | undefined;
  let backend: QueueBackend;
  let queue: JobQueue;
  const jobs: Job[] = [];
  let failing = false;

  beforeAll(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'wattline-schedule-'));
    if (kind === 'redis') redis = await startRedis();
    else await seedQueueImage(dataDir);
    const settings = { backend: kind, ...(redis && { redisUrl: redis.url }) };
    backend = await openBackend({ config: { dataDir, queue: settings }, logger: silentLogger });
    queue = await backend.openQueue();
    queue.consume(async (job) => {
      jobs.push(job);
      if (failing) throw new Error('no');
      return 'here';
    });
  });
  afterAll(async () => {
    await queue.close();
    await backend.close();
    await redis?.stop();
    await rm(dataDir, { recursive: true });
  });

  const row = (name: string, pattern: string): JobSchedule => ({
    key: `export:${name}:x`,
    pattern,
    timeZone: 'Etc/UTC',
    job: { stage: 'export', workgroupId: name },
  });
  const keys = async () => (await queue.schedules()).map(({ key }) => key).toSorted();
  const jobsOf = (name: string) => jobs.filter(({ workgroupId }) => workgroupId === name);

  test('an export has a schedule by the clock of its zone, and follows its configuration', async () => {
    await reconcileSchedules(queue, exporting('30 2 * * mon-fri'), Date.now());
    const [stored] = await queue.schedules();
    expect(stored).toMatchObject({
      key: 'export:home:billing',
      pattern: '30 2 * * 1,2,3,4,5',
      timeZone: 'Europe/Berlin',
    });
    expect(nextCronInstant(parseCron('30 2 * * mon-fri') as CronPattern, 'Europe/Berlin', Date.now())).toBe(
      stored?.nextAtMs,
    );
    expect(await reconcileSchedules(queue, exporting('30 2 * * mon-fri'), Date.now())).toEqual(unchanged);
    const changed = { ...unchanged, changed: ['export:home:billing'] };
    expect(await reconcileSchedules(queue, exporting('30 2 1 * *'), Date.now())).toEqual(changed);
    expect(await reconcileSchedules(queue, exporting('30 2 1 * *', 'Asia/Tokyo'), Date.now())).toEqual(
      changed,
    );
    expect(await reconcileSchedules(queue, exporting(), Date.now())).toEqual({
      ...unchanged,
      removed: ['export:home:billing'],
    });
  });

  test('schedules are kept, changed, removed, and not doubled by concurrent reconciliations', async () => {
    const both = [row('a', '0 3 * * *'), row('b', '0 4 * * *')];
    await Promise.all(Array.from({ length: 5 }, () => reconcileSchedules(queue, both, Date.now())));
    expect(await keys()).toEqual(['export:a:x', 'export:b:x']);
    const before = await queue.schedules();
    expect(await reconcileSchedules(queue, both, Date.now())).toEqual(unchanged);
    expect(await queue.schedules()).toEqual(before);
    expect(await reconcileSchedules(queue, [row('a', '0 5 * * *')], Date.now())).toEqual({
      ...unchanged,
      changed: ['export:a:x'],
      removed: ['export:b:x'],
    });
    expect(await queue.schedules()).toMatchObject([{ key: 'export:a:x', pattern: '0 5 * * *' }]);
  });

  test('a schedule that is later than its pattern says is set again, because the clock was set back', async () => {
    const wanted = [row('a', '0 * * * *')];
    await reconcileSchedules(queue, wanted, Date.now());
    const [before] = await queue.schedules();
    const setBackMs = Date.now() - 5 * HOUR_MS;
    expect(await reconcileSchedules(queue, wanted, setBackMs)).toEqual({
      ...unchanged,
      repaired: ['export:a:x'],
    });
    expect((await queue.schedules())[0]?.nextAtMs).toBe(before?.nextAtMs);
    expect(await reconcileSchedules(queue, wanted, Date.now() + DAY_MS)).toMatchObject({
      repaired: ['export:a:x'],
    });
  });

  test('a schedule is set again if its job is a minute overdue, or later than the instant before', async () => {
    const minute = new Date().getUTCMinutes();
    // The next instant is in 20 minutes, and the one before it was 10 minutes ago.
    const wanted = [row('a', `${(minute + 20) % 60},${(minute + 50) % 60} * * * *`)];
    await reconcileSchedules(queue, wanted, Date.now());
    const nextAtMs = (await queue.schedules())[0]!.nextAtMs!;
    const repaired = { ...unchanged, repaired: ['export:a:x'] };
    for (const [nowMs, changes] of [
      [nextAtMs - 1, unchanged],
      [nextAtMs + MINUTE_MS, unchanged],
      [nextAtMs + MINUTE_MS + 1, repaired],
      [nextAtMs - 30 * MINUTE_MS, unchanged],
      [nextAtMs - 30 * MINUTE_MS - 1, repaired],
    ] as const)
      expect(await reconcileSchedules(queue, wanted, nowMs), String(nowMs - nextAtMs)).toEqual(changes);
  });

  test('jobs come with their ids, also after one has failed', { tags: ['slow'] }, async () => {
    failing = true;
    await reconcileSchedules(queue, [row('due', everySecond)], Date.now());
    await until('two jobs have failed', () => jobsOf('due').length >= 2);
    failing = false;
    await until('another one came', () => jobsOf('due').length >= 3);
    expect(jobsOf('due')[0]).toEqual({ stage: 'export', workgroupId: 'due' });
    await reconcileSchedules(queue, [], Date.now());
  });

  // The embedded queue is a process with its own clock.
  if (kind === 'redis') {
    test('a schedule is set again even if a finished job had its next instant, because the clock was set back', async () => {
      onTestFinished(() => void vi.useRealTimers());
      vi.useFakeTimers({ toFake: ['Date'] });
      const atMs = Math.ceil(Date.now() / MINUTE_MS) * MINUTE_MS;
      const wanted = [row('back', '* * * * *')];
      const setTo = async (nowMs: number) => {
        vi.setSystemTime(nowMs);
        return reconcileSchedules(queue, wanted, nowMs);
      };
      const repaired = { ...unchanged, repaired: ['export:back:x'] };
      await setTo(atMs - 1);
      vi.setSystemTime(atMs);
      await until('the job of the minute is finished', () => jobsOf('back').length === 1);
      expect(await setTo(atMs + 3 * MINUTE_MS + 1)).toEqual(repaired);
      expect(await setTo(atMs - 1)).toEqual(repaired);
      expect(await queue.schedules()).toMatchObject([{ key: 'export:back:x', nextAtMs: atMs }]);
      await queue.unschedule('export:back:x');
    });

    test.runIf(isSoak)('a chain of jobs that broke is repaired', async () => {
      const wanted = [row('broken', everySecond)];
      await reconcileSchedules(queue, wanted, Date.now());
      const client = new Redis(redis!.url);
      await client.del('wattline:jobs:due:delayed', 'wattline:jobs:due:wait');
      client.disconnect();
      const before = jobsOf('broken').length;
      // The next instant of the pattern is another one then.
      const brokeAtMs = Date.now();
      await until('a second has passed', () => Date.now() > brokeAtMs + 1_100);
      expect(await reconcileSchedules(queue, wanted, Date.now() + 2 * 60_000)).toMatchObject({
        repaired: ['export:broken:x'],
      });
      await until('jobs come again', () => jobsOf('broken').length > before + 1);
      await reconcileSchedules(queue, [], Date.now());
    });
  }
});
