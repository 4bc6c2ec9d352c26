import { Redis } from 'ioredis';
import { expect, onTestFinished, test } from 'vitest';
import { DEVICE_STATUS_TABLE } from '../../../src/contract/messages.ts';
import { silentLogger } from '../../../src/lib/logger.ts';
import { MINUTE_MS, SECOND_MS } from '../../../src/lib/time.ts';
import { createRedisLease } from '../../../src/redis/redis-lease.ts';
import { createLastingLease } from '../../../src/redis/task-lease.ts';
import { startBackgroundTasks } from '../../../src/stream/background-tasks.ts';
import { createPresenceFile } from '../../../src/stream/presence/presence-file.ts';
import { createRedisPresence } from '../../../src/stream/presence/presence-redis.ts';
import { createStream } from '../../../src/stream/stream.ts';
import { decodeParts, telemetryBatch } from '../../support/messages.ts';
import { startRedis, type TestRedis } from '../../support/redis.ts';
import { openTestRedisLog } from '../../support/redis-log.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { createTestClock, type TestClock } from '../../support/test-clock.ts';

const [TIMEOUT_MS, RETENTION_MS] = [MINUTE_MS, 4 * MINUTE_MS];
const timeout = 240_000;
const LEASE = 'wattline:stream:presence-watch';

interface StreamProcess {
  /** Passes time, and waits until the tasks have run. */
  tick(ms: number): Promise<void>;
  send(device: number): Promise<void>;
  trim(): Promise<void>;
  statuses(): Promise<string[]>;
  stop(): Promise<void>;
}

/** The tasks of a stream process with a separate data folder. Each tick is one turn. */
async function startProcess(redisServer: TestRedis, clock: TestClock): Promise<StreamProcess> {
  const { log, redis } = await openTestRedisLog(redisServer.url, { clock, retentionMs: RETENTION_MS });
  const dataDir = tempDir();
  const common = { clock, logger: silentLogger };
  const stream = createStream({
    openLog: () => log,
    retentionMs: RETENTION_MS,
    startTimer: () => () => undefined,
    ...common,
  });
  const lease = createRedisLease({ redis, key: LEASE, clock });
  let ring: (() => void) | undefined;
  let waiting = Promise.withResolvers<void>();
  const tasks = startBackgroundTasks({
    stream,
    workgroups: () => [{ id: 'acme', deviceTimeoutMs: TIMEOUT_MS }],
    dataDir,
    folderLease: createLastingLease(async () => async () => undefined, clock),
    presenceLease: lease,
    presenceStoreOf: (workgroupId) =>
      createRedisPresence(redis, { workgroupId, lease, logger: silentLogger }),
    startTimer(_, action) {
      ring = action;
      waiting.resolve();
      return () => undefined;
    },
    ...common,
  });
  return {
    async tick(ms) {
      await waiting.promise;
      waiting = Promise.withResolvers();
      clock.leap(ms);
      ring?.();
      await waiting.promise;
    },
    send: async (device) => void (await log.append(telemetryBatch(1, { device }))),
    trim: () => log.trim(),
    async statuses() {
      const filter = { table: DEVICE_STATUS_TABLE };
      const outcome = await log.read({
        from: 'oldest',
        limit: 1_000,
        bytesMax: 1e6,
        oneAtLeast: true,
        filter,
      });
      if (outcome.kind !== 'batch') throw new Error(outcome.kind);
      const found = decodeParts(outcome.parts) as Array<{ device?: string; state?: string }>;
      return found.map(({ device, state }) => `${Number(device?.slice(-2))} ${state}`);
    },
    stop: () => tasks.stop(),
  };
}

async function setUp() {
  const server = await startRedis({ appendonly: 'yes', appendfsync: 'always' });
  onTestFinished(() => server.stop());
  const client = new Redis(server.url);
  client.on('error', () => undefined);
  onTestFinished(() => client.disconnect());
  const clock = createTestClock();
  const start = () => startProcess(server, clock);
  return { server, client, start };
}

/** Half a minute passes. All processes run their tasks. */
async function passHalfMinute(processes: readonly StreamProcess[]): Promise<void> {
  for (let second = 0; second < 30; second += 3)
    for (const [index, one] of processes.entries()) await one.tick(index === 0 ? 3 * SECOND_MS : 0);
}

test('another process continues the watch with devices that came online before the oldest message', {
  tags: ['slow'],
  timeout,
}, async () => {
  const { client, start } = await setUp();
  const one = await start();
  await one.tick(SECOND_MS);
  const other = await start();
  const seen: string[] = [];
  for (let half = 0; half < 12; half++) {
    await [one, other][half % 2]!.send(1);
    await passHalfMinute([one, other]);
    if (half === 0) seen.push(...(await one.statuses()));
    await one.trim();
  }
  expect(seen).toEqual(['1 online']);
  // The report of the state is out of the log. The first process stops without a word, and its lease ends.
  expect(await other.statuses()).toEqual([]);
  await client.del(LEASE);
  for (let half = 0; half < 3; half++) {
    await other.send(1);
    await passHalfMinute([other]);
  }
  expect(await client.get(LEASE)).not.toBeNull();
  expect(await other.statuses()).toEqual([]);
  await other.send(2);
  for (let half = 0; half < 3; half++) await passHalfMinute([other]);
  expect(await other.statuses()).toEqual(['2 online', '1 offline', '2 offline']);
  // The first one continues, and has no right any more.
  await passHalfMinute([one, other]);
  expect(await one.statuses()).toEqual(['2 online', '1 offline', '2 offline']);
  await other.stop();
  expect(await client.get(LEASE)).toBeNull();
});

test('when Redis loses everything, the watching process keeps its lease and the known devices', {
  timeout,
}, async () => {
  const { client, start } = await setUp();
  const one = await start();
  await one.tick(SECOND_MS);
  const other = await start();
  await one.send(1);
  await one.send(2);
  await passHalfMinute([one, other]);
  const holder = await client.get(LEASE);
  await client.flushall();
  // The other one asks first, and leaves the free lease to its holder.
  await other.tick(6 * SECOND_MS);
  await one.tick(0);
  expect(await client.get(LEASE)).toBe(holder);
  expect(await client.exists('wattline:stream:{acme}:presence')).toBe(1);
  for (let half = 0; half < 4; half++) {
    await other.send(1);
    await passHalfMinute([one, other]);
  }
  // Device 2 is silent. Nothing is said of device 1, which sends.
  expect(await one.statuses()).toEqual(['2 offline']);
  // Its successor has the same devices.
  await client.del(LEASE);
  for (let half = 0; half < 3; half++) {
    await other.send(1);
    await passHalfMinute([other]);
  }
  expect(await other.statuses()).toEqual(['2 offline']);
});

test('after Redis was down, every device gets its full time again', { tags: ['slow'], timeout }, async () => {
  const { server, start } = await setUp();
  const one = await start();
  await one.tick(SECOND_MS);
  const other = await start();
  await one.send(1);
  await passHalfMinute([one, other]);
  await server.restart({
    whileDown: async () => {
      for (let half = 0; half < 4; half++) await passHalfMinute([one, other]);
    },
  });
  await expect.poll(() => one.statuses().catch(() => undefined), { timeout: 120_000 }).toEqual(['1 online']);
  await passHalfMinute([one, other]);
  expect(await one.statuses()).toEqual(['1 online']);
  for (let half = 0; half < 2; half++) await passHalfMinute([one, other]);
  expect(await one.statuses()).toEqual(['1 online', '1 offline']);
});

test('a process without the lease cannot replace the stored presence', { timeout }, async () => {
  const { server, client } = await setUp();
  const clock = createTestClock();
  const open = async () => {
    const { redis } = await openTestRedisLog(server.url, { clock });
    const lease = createRedisLease({ redis, key: LEASE, clock });
    const store = createRedisPresence(redis, { workgroupId: 'acme', lease, logger: silentLogger });
    return { lease, store };
  };
  const [one, other] = [await open(), await open()];
  const stored = (position: bigint) => ({ epoch: 'e', position, devices: [] });
  expect([await one.lease.acquireOrRenew(), await other.lease.acquireOrRenew()]).toEqual([true, false]);
  await one.store.write(stored(7n));
  await expect(other.store.write(stored(8n))).rejects.toMatchObject({ code: 'PresenceElsewhere' });
  expect(await other.store.read()).toEqual(stored(7n));
  expect((await client.keys('wattline:stream:{acme}:presence*')).length).toBe(1);
  await client.set('wattline:stream:{acme}:presence', 'nonsense');
  expect(await one.store.read()).toBeUndefined();
  expect(await createPresenceFile(`${tempDir()}/none.json`, silentLogger).read()).toBeUndefined();
});
