import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createLocalLeases, createRedisLeases } from '../../jobs/leases.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';
import { until } from '../support/until.ts';

let server: TestRedis;
let redis: Redis;
beforeAll(async () => {
  server = await startRedis();
  redis = new Redis(server.url);
});
afterAll(async () => {
  redis.disconnect();
  await server.stop();
});

let prefix = 0;
/** Two workers that share a store nobody else uses. */
function setUp(leaseMs = 60_000) {
  prefix += 1;
  const leases = (workerId: string) =>
    createRedisLeases(redis, { workerId, leaseMs, prefix: `test${prefix}` });
  return { first: leases('first'), second: leases('second') };
}

test('a lease has one owner, who may hold it as often as it likes', async () => {
  const { first, second } = setUp();
  expect(await first.acquireOrRenew('a')).toBe(true);
  expect(await first.acquireOrRenew('a')).toBe(true);
  expect(await second.acquireOrRenew('a')).toBe(false);
  expect(await second.acquireOrRenew('b')).toBe(true);
});

test('of many who ask at once one gets it', async () => {
  const { first, second } = setUp();
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, i) => (i % 2 ? first : second).acquireOrRenew('a')),
  );
  expect(new Set(answers.filter((_, i) => i % 2)).size).toBe(1);
  expect(answers.filter((_, i) => i % 2)[0]).toBe(!answers[0]);
});

test('a lease that is not renewed runs out, and a lease that is renewed does not', {
  tags: ['slow'],
}, async () => {
  // So long that no pause of a busy machine ends the lease that is kept.
  const { first, second } = setUp(5_000);
  await first.acquireOrRenew('left');
  await first.acquireOrRenew('kept');
  await until('the other one has run out', async () => {
    expect(await second.acquireOrRenew('kept')).toBe(false);
    expect(await first.acquireOrRenew('kept')).toBe(true);
    return second.acquireOrRenew('left');
  });
  expect(await first.acquireOrRenew('left')).toBe(false);
});

test('only the owner can release a lease', async () => {
  const { first, second } = setUp();
  await first.acquireOrRenew('a');
  await second.release('a', 'awake');
  expect(await second.acquireOrRenew('a')).toBe(false);
  await first.release('a', 'awake');
  expect(await second.acquireOrRenew('a')).toBe(true);
});

test('the note of a successor ends with the release, so that the next owner can have another one', async () => {
  const { first, second } = setUp();
  await first.acquireOrRenew('a');
  expect(await second.succeed('a')).toBe(true);
  expect(await first.succeed('a')).toBe(false);
  await first.release('a', 'awake');
  await second.acquireOrRenew('a');
  expect(await first.succeed('a')).toBe(true);
});

test('workers that survey are counted until they leave or fall silent', { tags: ['slow'] }, async () => {
  const leaseMs = 3_000;
  const { first, second } = setUp(leaseMs);
  const count = async (leases: typeof first) => (await leases.survey()).workers;
  expect(await count(first)).toBe(1);
  expect(await count(second)).toBe(2);
  await sleep(leaseMs + 50);
  expect(await count(second)).toBe(1);
  expect(await count(first)).toBe(2);
  await first.leave();
  expect(await count(second)).toBe(1);
});

test('leases are renewed in one call, which names those that another worker has', async () => {
  const { first, second } = setUp();
  expect(await first.renew([])).toEqual([]);
  for (const id of ['a', 'b']) await first.acquireOrRenew(id);
  await second.acquireOrRenew('c');
  expect(await first.renew(['a', 'b', 'c'])).toEqual(['c']);
  expect(await first.ownerOf('a')).toBe('first');
  expect(await first.ownerOf('c')).toBe('second');
  expect(await first.ownerOf('d')).toBeUndefined();
});

test.each([
  ['Redis', setUp],
  [
    'one process',
    () => {
      const leases = createLocalLeases(60_000);
      return { first: leases, second: leases };
    },
  ],
])(
  'leases of %s: a workgroup is awake until it hibernates, and free while nobody has its lease',
  async (_, of) => {
    const { first, second } = of();
    await first.acquireOrRenew('a');
    await first.acquireOrRenew('b');
    expect(await second.survey()).toMatchObject({ awake: expect.arrayContaining(['a', 'b']), free: [] });
    await first.release('a', 'awake');
    await first.release('b', 'hibernated');
    expect(await second.survey()).toMatchObject({ awake: ['a'], free: ['a'] });
    await second.forget('a');
    expect(await first.survey()).toMatchObject({ awake: [], free: [] });
  },
);
