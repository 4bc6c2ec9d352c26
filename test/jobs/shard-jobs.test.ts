import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openBackend, type QueueBackend } from '../../jobs/queue-backend.ts';
import type { LossReason } from '../../jobs/shard-jobs.ts';
import { startShard } from '../../jobs/shard-jobs.ts';
import type { StageName, Stages } from '../../jobs/stages.ts';
import { StaleOwnerError, TransientError } from '../../src/lib/errors.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';
import { until } from '../support/until.ts';

let server: TestRedis;
let backend: QueueBackend;
beforeAll(async () => {
  server = await startRedis();
  backend = await openBackend({
    config: { dataDir: '/nowhere', queue: { backend: 'redis', redisUrl: server.url } },
    logger: silentLogger,
  });
});
afterAll(async () => {
  await backend.close();
  await server.stop();
});

let nextId = 0;
async function setUp(run: Partial<Stages>, onLost: (reason: LossReason) => void = () => {}) {
  const workgroupId = `w${nextId++}`;
  const clock = { aheadMs: 0, now: () => Date.now() + clock.aheadMs };
  const idle = async () => undefined;
  const shard = await startShard({
    queue: backend.queue(workgroupId),
    schedules: (['poll', 'rollup', 'publish'] as const).map((stage) => ({
      stage,
      workgroupId,
      everyMs: 200,
    })),
    stages: { poll: idle, rollup: idle, publish: idle, maintain: idle, export: idle, ...run },
    clock,
    logger: silentLogger,
    onLost,
  });
  const healthOf = (name: StageName) => shard.health().find(({ stage }) => stage === name)!;
  const end = async () => {
    expect(await shard.stop(5_000)).toBe('stopped');
    await shard.close();
  };
  return { workgroupId, clock, shard, healthOf, end };
}

test('roll-up and publish of a shard never run at once, while a poll goes on beside them', async () => {
  const running = new Set<StageName>();
  const together: string[] = [];
  const stage = (name: StageName, ms: number) => async () => {
    running.add(name);
    together.push([...running].toSorted().join('+'));
    await sleep(ms);
    running.delete(name);
  };
  const { end } = await setUp({
    poll: stage('poll', 700),
    rollup: stage('rollup', 70),
    publish: stage('publish', 70),
  });
  await until('each ran a few times', () => together.length > 12);
  await end();
  expect(together.filter((names) => names.includes('publish') && names.includes('rollup'))).toEqual([]);
  expect(together).toContain('poll+rollup');
  expect(together).toContain('poll+publish');
});

test.each([
  [new StaleOwnerError('a', 1n, 2n), 'stale-owner'],
  [new TransientError('ShardNotOpen', 'the warehouse of a is not open'), 'shard-ended'],
  [Object.assign(new Error('from another thread'), { code: 'PipelineEnded' }), 'shard-ended'],
])('a shard is lost once a stage finds that %s', async (error, reason) => {
  const losses: LossReason[] = [];
  const { end } = await setUp({ poll: () => Promise.reject(error) }, (loss) => losses.push(loss));
  await until('the loss is noticed', () => losses.length > 0);
  expect(losses[0]).toBe(reason);
  await end();
});

test('a stage that fails does not hold the others up', async () => {
  let rollups = 0;
  const { healthOf, end } = await setUp({
    poll: () => Promise.reject(new TransientError('Away', 'no')),
    rollup: async () => {
      rollups += 1;
    },
  });
  await until('the roll-up ran on', () => rollups > 4);
  expect(healthOf('poll')).toMatchObject({ state: 'failing', lastError: { message: 'no' } });
  expect(healthOf('rollup').state).toBe('ok');
  await end();
});

test('ticks that stop coming are seen, and a review brings them back', async () => {
  let polls = 0;
  const { workgroupId, clock, shard, healthOf, end } = await setUp({
    poll: async () => {
      polls += 1;
    },
  });
  await until('it is polled', () => polls > 1);
  const client = new Redis(server.url);
  await client.del(`wattline:queue:${workgroupId}:delayed`, `wattline:queue:${workgroupId}:wait`);
  client.disconnect();
  await sleep(300);
  const before = polls;
  clock.aheadMs = 20_000;
  expect(healthOf('poll').state).toBe('unscheduled');
  await shard.review();
  await until('it is polled again', () => polls > before + 1);
  expect(healthOf('poll').state).toBe('ok');
  await end();
});
