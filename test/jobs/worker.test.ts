import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { startWorker } from '../../jobs/worker.ts';
import type { ClosedShardState } from '../../jobs/worker-dependencies.ts';
import { type ConfigInput, configSchema, type WorkgroupConfig } from '../../src/config/config.ts';
import { createWorkgroups } from '../../src/config/workgroups.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { HOUR_MS, MINUTE_MS } from '../../src/lib/time.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';
import { createTestClock } from '../support/test-clock.ts';
import { until } from '../support/until.ts';

let redis: TestRedis;
beforeAll(async () => {
  redis = await startRedis();
});
afterAll(() => redis.stop());

/** A worker whose stages do nothing. */
async function setUp(input: ConfigInput, leaseMs = 500) {
  const events: string[] = [];
  const shards: { state: ClosedShardState } = { state: 'idle' };
  const clock = createTestClock();
  const config = configSchema.parse({ workgroups: [{ id: 'a' }, { id: 'b' }], ...input });
  const workgroups = createWorkgroups(config);
  const stage = async () => undefined;
  const worker = await startWorker({
    ...{ config, workgroups, clock, leaseMs, logger: silentLogger },
    dependencies: {
      stages: { poll: stage, rollup: stage, publish: stage, maintain: stage, commit: stage, export: stage },
      openShard: async (id) => void events.push(`open ${id}`),
      closeShard: async (id) => void events.push(`close ${id}`),
      hasNews: () => true,
      async assess(id) {
        events.push(`assess ${id}`);
        return shards.state;
      },
      mayHibernate: async () => true,
      onHibernated: async (id) => void events.push(`hibernated ${id}`),
    },
  });
  onTestFinished(() => worker.stop());
  await until('it has assessed both', () => events.length >= 2);
  const rounds = async (count = 2) => {
    for (let round = 0; round < count; round++) {
      const before = worker.health().lastRoundAtMs;
      clock.leap(1);
      await until('a round', () => worker.health().lastRoundAtMs > before);
    }
  };
  return { worker, workgroups, config, events, shards, clock, rounds };
}

test('a shard that a request has woken stays open for a while from then on', { tags: ['slow'] }, async () => {
  const { worker, events, clock, rounds } = await setUp({ pipeline: { hibernateAfter: HOUR_MS } });
  expect([await worker.wake('a'), await worker.wake('b'), await worker.wake('c')]).toEqual([
    true,
    true,
    false,
  ]);
  await rounds();
  clock.leap(50 * MINUTE_MS);
  expect(await worker.wake('a')).toBe(true);
  clock.leap(10 * MINUTE_MS);
  await until('the other one hibernates', () => events.includes('hibernated b'));
  await rounds();
  expect(events).not.toContain('hibernated a');
  clock.leap(50 * MINUTE_MS);
  await until('it hibernates, too', () => events.includes('hibernated a'));
});

test('if the alerts change, all workgroups are assessed again, and otherwise only the added ones', async () => {
  const { workgroups, config, events } = await setUp({});
  events.length = 0;
  const [first] = config.workgroups;
  workgroups.replace({ ...config, workgroups: [...config.workgroups, { ...first!, id: 'c' }] });
  await until('the added one is assessed', () => events.length > 0);
  expect(events).toEqual(['assess c']);
  const alerts = configSchema.parse({ alerts: { conditions: { gap: 'off' } } }).alerts;
  workgroups.replace({ ...config, alerts });
  await until('both are assessed', () => events.length > 2);
  expect(events.slice(1)).toEqual(['assess a', 'assess b']);
});

test('a workgroup with other settings is opened again, even if it hibernated, and a removed one is closed', async () => {
  const { worker, workgroups, config, events } = await setUp({});
  await worker.wake('a');
  events.length = 0;
  const [a, b] = config.workgroups as [WorkgroupConfig, WorkgroupConfig];
  // Those of the stream do not concern the worker.
  workgroups.replace({ ...config, workgroups: [a, { ...b, deviceTimeout: 5 * MINUTE_MS }] });
  const timezone = 'Asia/Tokyo';
  workgroups.replace({
    ...config,
    workgroups: [
      { ...a, timezone },
      { ...b, deviceTimeout: 6 * MINUTE_MS },
    ],
  });
  await until('it is opened again', () => events.length > 1);
  expect(events).toEqual(['close a', 'open a']);
  workgroups.replace({
    ...config,
    workgroups: [
      { ...a, timezone },
      { ...b, timezone },
    ],
  });
  await until('the other one is opened', () => events.length > 2);
  workgroups.replace({ ...config, workgroups: [{ ...b, timezone }] });
  await until('the removed one is closed', () => events.length > 3);
  expect(events.slice(2)).toEqual(['open b', 'close a']);
});

test('when the store comes back empty, all workgroups are assessed, but are taken only after the time of a lease', {
  tags: ['slow'],
}, async () => {
  const queue = { backend: 'redis', redisUrl: redis.url } as const;
  // Two workers whose next round is after the test, and one with rounds.
  const [owner, slow] = [await setUp({ queue }, HOUR_MS), await setUp({ queue }, HOUR_MS)];
  await owner.worker.wake('a');
  const { worker, workgroups, config, events, shards, clock, rounds } = await setUp({ queue });
  await until('it knows who has the first one', () => !worker.canWake('a'));
  for (const one of [events, slow.events]) one.length = 0;
  shards.state = 'behind';
  await redis.restart();
  await until('both are assessed', () => events.length > 1 && slow.events.length > 1);
  expect([events, slow.events]).toEqual([
    ['assess a', 'assess b'],
    ['assess a', 'assess b'],
  ]);
  await rounds();
  expect(events).toHaveLength(2);
  // What is removed until then is not opened.
  workgroups.replace({ ...config, workgroups: config.workgroups.slice(0, 1) });
  clock.leap(500);
  await until('the first one is opened', () => events.length > 2);
  await rounds();
  expect(events.slice(2)).toEqual(['open a']);
});
