import { Redis } from 'ioredis';
import { beforeEach, expect, test } from 'vitest';
import { silentLogger } from '../../src/lib/logger.ts';
import { openRedisConnection } from '../../src/redis/redis-connection.ts';
import { KEY_PREFIX, leaseKey, workersKey } from '../../src/redis/redis-keys.ts';
import {
  announceWorker,
  createOwnerDirectory,
  type WorkerAddress,
} from '../../src/worker-rpc/owner-directory.ts';
import { startRedis } from '../support/redis.ts';
import { atEnd, shared } from '../support/shared.ts';
import { until } from '../support/until.ts';

const opened = shared(async () => {
  const server = await startRedis();
  atEnd(() => server.stop());
  const admin = new Redis(server.url);
  atEnd(() => admin.disconnect());
  const redis = await openRedisConnection({ url: server.url, logger: silentLogger });
  atEnd(() => redis.close());
  return { admin, redis };
});
beforeEach(() => opened().admin.flushall());

const LEASE_MS = 60_000;
const addressOf = (workerId: string): WorkerAddress => ({
  workerId,
  host: '127.0.0.1',
  port: 1_234,
  machine: 'here',
});
const keyOf = (workerId: string) => `${KEY_PREFIX}:address:${workerId}`;
const find = () => createOwnerDirectory(opened().redis).find('acme');

/** Announces a worker with timers that the test rings. */
async function announce(workerId: string) {
  const warnings: string[] = [];
  const state = { isAway: false };
  const timers: Array<{ delayMs: number; ring: () => void }> = [];
  let onReady: () => void = () => undefined;
  const { redis } = opened();
  const withdraw = await announceWorker(
    {
      run: (...call) => (state.isAway ? Promise.reject(new Error('no Redis')) : redis.run(...call)),
      onReady: (listener) => {
        onReady = listener;
        return () => {
          onReady = () => undefined;
        };
      },
    },
    addressOf(workerId),
    {
      leaseMs: LEASE_MS,
      startTimer: (delayMs, ring) => {
        timers.push({ delayMs, ring });
        return () => undefined;
      },
      logger: { ...silentLogger, warn: (_: unknown, event?: string) => void warnings.push(event!) },
    },
  );
  return { withdraw, warnings, timers, state, ready: () => onReady() };
}

test('without a lease, the living workers are found whose address is known', async () => {
  const { admin } = opened();
  expect(await find()).toEqual({ kind: 'free', workers: [] });
  await admin.zadd(workersKey(KEY_PREFIX), 2, 'two', 1, 'one', 3, 'unknown', 4, 'broken');
  await admin.set(keyOf('broken'), '{"port":0}');
  await announce('one');
  await announce('two');
  await announce('ended');
  expect(await find()).toEqual({ kind: 'free', workers: [addressOf('one'), addressOf('two')] });
});

test('with a lease, only its worker is found, or unknown until its address is known', async () => {
  const { admin } = opened();
  await admin.zadd(workersKey(KEY_PREFIX), 1, 'one', 2, 'two');
  await announce('one');
  await admin.set(leaseKey(KEY_PREFIX, 'acme'), 'two');
  expect(await find()).toEqual({ kind: 'unknown' });
  await announce('two');
  expect(await find()).toEqual({ kind: 'owner', owner: addressOf('two') });
  await admin.set(keyOf('two'), 'no JSON');
  expect(await find()).toEqual({ kind: 'unknown' });
});

test('an address is written again a third of its time later, and when Redis is there again', async () => {
  const { admin } = opened();
  const { timers, ready, withdraw } = await announce('one');
  expect(timers.map(({ delayMs }) => delayMs)).toEqual([LEASE_MS / 3]);
  const leftMs = await admin.pttl(keyOf('one'));
  expect([leftMs > LEASE_MS / 2, leftMs <= LEASE_MS]).toEqual([true, true]);
  const isThere = async () => (await admin.exists(keyOf('one'))) === 1;
  await admin.flushall();
  timers[0]!.ring();
  await until('it is written again', isThere);
  await until('it will be again', () => timers.length === 2);
  await admin.flushall();
  ready();
  await until('it is written again', isThere);
  await withdraw();
  expect(await isThere()).toBe(false);
  ready();
  expect(await isThere()).toBe(false);
});

test('an outage is reported once, and the next one again', async () => {
  const { state, timers, warnings } = await announce('one');
  const ring = async () => {
    const { length } = timers;
    timers.at(-1)!.ring();
    await until('the next timer is set', () => timers.length > length);
  };
  for (const isAway of [true, true, false, true]) {
    state.isAway = isAway;
    await ring();
  }
  expect(warnings).toEqual(['worker.address-not-written', 'worker.address-not-written']);
});
