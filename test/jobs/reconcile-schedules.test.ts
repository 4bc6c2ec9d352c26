import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { schedulesOf } from '../../jobs/job-table.ts';
import { openBackend, type QueueBackend } from '../../jobs/queue-backend.ts';
import { reconcileSchedules } from '../../jobs/reconcile-schedules.ts';
import type { ShardQueue } from '../../jobs/shard-queue.ts';
import type { Schedule, StageName } from '../../jobs/stages.ts';
import { configSchema } from '../../src/config/config.ts';
import { type CronPattern, nextCronInstant, parseCron } from '../../src/lib/cron.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { seedQueueImage } from '../support/queue-image.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';
import { until } from '../support/until.ts';

const unchanged = { added: [], changed: [], repaired: [], removed: [] };

describe.each(['pglite', 'redis'] as const)('on %s', (kind) => {
  let dataDir: string;
  let redis: TestRedis | undefined;
  let backend: QueueBackend;
  let nextId = 0;

  beforeAll(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'wattline-schedule-'));
    if (kind === 'redis') redis = await startRedis();
    else await seedQueueImage(dataDir);
    const queue = { backend: kind, ...(redis && { redisUrl: redis.url }) };
    backend = await openBackend({ config: { dataDir, queue }, logger: silentLogger });
  });
  afterAll(async () => {
    await backend.close();
    await redis?.stop();
    await rm(dataDir, { recursive: true });
  });

  function newQueue(workgroupId = `w${nextId++}`) {
    const queue = backend.queue(workgroupId);
    const rows = (everyMs: Partial<Record<StageName, number>>): Schedule[] =>
      Object.entries(everyMs).map(([stage, ms]) => ({ stage: stage as StageName, workgroupId, everyMs: ms }));
    return { queue, rows };
  }
  const keysOf = async (queue: ShardQueue) => (await queue.schedules()).map(({ key }) => key).toSorted();

  test('a queue without schedules gets one for every job of the table, with the periods of the configuration', async () => {
    const { queue } = newQueue();
    const workgroup = { id: queue.workgroupId, timezone: 'Etc/UTC' };
    const config = configSchema.parse({ pipeline: { pollEvery: '3s', maintainEvery: '5m' } });
    await reconcileSchedules(queue, schedulesOf(workgroup, config), Date.now());
    const rows = await queue.schedules();
    expect(Object.fromEntries(rows.map(({ stage, everyMs }) => [stage, everyMs]))).toEqual({
      poll: 3_000,
      rollup: 2_000,
      publish: 5_000,
      maintain: 300_000,
    });
    await queue.close();
  });

  test('an export has a schedule by the clock of its zone beside the ticks of a minute, and follows its configuration', async () => {
    const { queue } = newQueue('w-export');
    const workgroup = { id: 'w-export', timezone: 'Europe/Berlin' };
    const schedules = (schedule?: string, timezone?: string) =>
      schedulesOf(
        workgroup,
        configSchema.parse({
          workgroups: [workgroup],
          exports: [
            {
              id: 'billing',
              workgroup: workgroup.id,
              report: 'daily_energy',
              range: 'last_month',
              format: 'csv',
              destination: { folder: 'out' },
              ...(schedule && { schedule }),
              ...(timezone && { timezone }),
            },
          ],
        }),
      );
    await reconcileSchedules(queue, schedules('30 2 * * mon-fri'), Date.now());
    const find = async (name: string) => (await queue.schedules()).find(({ key }) => key === name);
    expect(await find('export')).toMatchObject({ everyMs: 60_000 });
    const clock = (await find('export-billing'))!;
    expect(clock).toMatchObject({ pattern: '30 2 * * 1,2,3,4,5', timeZone: 'Europe/Berlin' });
    expect(nextCronInstant(parseCron('30 2 * * mon-fri') as CronPattern, 'Europe/Berlin', Date.now())).toBe(
      clock.nextAtMs,
    );
    expect(await reconcileSchedules(queue, schedules('30 2 * * mon-fri'), Date.now())).toEqual(unchanged);
    const changed = { ...unchanged, changed: ['export-billing'] };
    expect(await reconcileSchedules(queue, schedules('30 2 1 * *'), Date.now())).toEqual(changed);
    expect(await reconcileSchedules(queue, schedules('30 2 1 * *', 'Asia/Tokyo'), Date.now())).toEqual(
      changed,
    );
    expect(await reconcileSchedules(queue, schedules(), Date.now())).toEqual({
      ...unchanged,
      removed: ['export-billing'],
    });
    await queue.close();
  });

  test('a second reconciliation changes nothing, a changed period is updated, a removed schedule is removed', async () => {
    const { queue, rows } = newQueue();
    const both = rows({ poll: 60_000, rollup: 60_000 });
    expect(await reconcileSchedules(queue, both, Date.now())).toEqual({
      ...unchanged,
      added: ['poll', 'rollup'],
    });
    const before = await queue.schedules();
    expect(await reconcileSchedules(queue, both, Date.now())).toEqual(unchanged);
    expect(await queue.schedules()).toEqual(before);
    const one = rows({ poll: 30_000 });
    expect(await reconcileSchedules(queue, one, Date.now())).toEqual({
      ...unchanged,
      changed: ['poll'],
      removed: ['rollup'],
    });
    expect(await queue.schedules()).toMatchObject([{ key: 'poll', everyMs: 30_000 }]);
    await queue.close();
  });

  test('several instances that schedule at once neither double nor lose a schedule or its ticks', async () => {
    const workgroupId = `w${nextId++}`;
    const instances = Array.from({ length: 6 }, () => newQueue(workgroupId));
    const wanted = instances[0]!.rows({ poll: 500, rollup: 500 });
    const reconcileAll = () =>
      Promise.all(instances.map(({ queue }) => reconcileSchedules(queue, wanted, Date.now())));
    const beganAt = performance.now();
    await reconcileAll();
    const ticks: StageName[] = [];
    const consumer = instances[0]!.queue.consume(async (stage) => {
      ticks.push(stage);
      return 'done';
    });
    for (let round = 0; round < 10; round++) {
      await reconcileAll();
      await sleep(200);
    }
    expect(await keysOf(instances[0]!.queue)).toEqual(['poll', 'rollup']);
    for (const stage of ['poll', 'rollup']) {
      const count = ticks.filter((tick) => tick === stage).length;
      expect(count).toBeGreaterThanOrEqual(3);
      expect(count).toBeLessThanOrEqual((performance.now() - beganAt) / 500 + 2);
    }
    await consumer.stop(5_000);
    await Promise.all(instances.map(({ queue }) => queue.close()));
  });

  test('a tick that fails is recorded, and the next one comes', async () => {
    const { queue, rows } = newQueue();
    await reconcileSchedules(queue, rows({ poll: 200 }), Date.now());
    let ticks = 0;
    const consumer = queue.consume(async () => {
      ticks += 1;
      throw new Error('no');
    });
    await until('three ticks have failed', () => ticks >= 3);
    await consumer.stop(5_000);
    await queue.close();
  });

  test('a consumer that stops aborts the tick that runs', async () => {
    const { queue, rows } = newQueue();
    await reconcileSchedules(queue, rows({ poll: 200 }), Date.now());
    let began = false;
    const consumer = queue.consume(async (_, signal) => {
      began = true;
      await sleep(60_000, undefined, { signal }).catch(() => undefined);
      return 'interrupted';
    });
    await until('a tick has begun', () => began);
    expect(await consumer.stop(5_000)).toBe('stopped');
    await queue.close();
  });

  test('a consumer whose tick does not end is abandoned in time', async () => {
    const { queue, rows } = newQueue();
    await reconcileSchedules(queue, rows({ poll: 200 }), Date.now());
    const { promise, resolve } = Promise.withResolvers<'done'>();
    let began = false;
    const consumer = queue.consume(() => {
      began = true;
      return promise;
    });
    await until('a tick has begun', () => began);
    expect(await consumer.stop(200)).toBe('abandoned');
    resolve('done');
  });

  test('a queue that is removed leaves nothing to be scheduled', async () => {
    const { queue, rows } = newQueue();
    await reconcileSchedules(queue, rows({ poll: 60_000 }), Date.now());
    await queue.remove();
    expect(await queue.schedules()).toEqual([]);
    expect(await reconcileSchedules(queue, rows({ poll: 60_000 }), Date.now())).toMatchObject({
      added: ['poll'],
    });
    await queue.close();
  });

  if (kind === 'redis') {
    test('a chain of ticks that broke is repaired', async () => {
      const { queue, rows } = newQueue();
      const wanted = rows({ poll: 300 });
      await reconcileSchedules(queue, wanted, Date.now());
      const client = new Redis(redis!.url);
      await client.del(
        `wattline:queue:${queue.workgroupId}:delayed`,
        `wattline:queue:${queue.workgroupId}:wait`,
      );
      client.disconnect();
      let ticks = 0;
      const consumer = queue.consume(async () => {
        ticks += 1;
        return 'done';
      });
      await sleep(700);
      expect(ticks).toBe(0);
      expect(await reconcileSchedules(queue, wanted, Date.now() + 2_000)).toEqual({
        ...unchanged,
        repaired: ['poll'],
      });
      await until('ticks come again', () => ticks >= 2);
      await consumer.stop(5_000);
      await queue.close();
    });
  }
});
