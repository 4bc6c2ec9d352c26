import { Redis } from 'ioredis';
import { expect, onTestFinished, test } from 'vitest';
import type { Offset } from '../../../src/contract/offset.ts';
import { type Logger, silentLogger } from '../../../src/lib/logger.ts';
import { openRedisConnection } from '../../../src/redis/redis-connection.ts';
import type { StreamLog } from '../../../src/stream/log/stream-log.ts';
import { freePort } from '../../support/free-port.ts';
import { decodeParts, telemetryBatch } from '../../support/messages.ts';
import { startRedis, startSentinel, type TestRedis } from '../../support/redis.ts';
import { openTestRedisLog } from '../../support/redis-log.ts';
import { until } from '../../support/until.ts';

const BATCH = 5;

test.each([
  ['in step', false],
  ['behind', true],
])(
  'while two processes write, a replica that is %s takes over from a master that is killed: another epoch begins, and the stored messages continue in order',
  { tags: ['slow'] },
  async (_, isBehind) => {
    const master = await startServer({ 'repl-diskless-sync-delay': '0' });
    const replica = await startServer({ replicaof: `127.0.0.1 ${master.port}` });
    const follower = new Redis(replica.url);
    const admin = new Redis(master.url);
    admin.on('error', () => undefined);
    onTestFinished(() => [follower, admin].forEach((redis) => void redis.disconnect()));
    await admin.set('written', 'before');
    await until('the replica follows', async () => (await admin.wait(1, 100)) === 1);
    const sentinel = await startSentinel(master.port);
    onTestFinished(sentinel.stop);
    const sentinels = [`redis://127.0.0.1:${sentinel.port}`];
    const asked = new Redis(sentinel.port);
    onTestFinished(() => asked.disconnect());
    await until('the sentinel knows the replica', async () => {
      const replicas = (await asked.call('SENTINEL', 'REPLICAS', 'mymaster')) as unknown[];
      return replicas.length === 1 && /flags,slave,/.test(String(replicas[0]));
    });
    const logs = await Promise.all(
      [1, 2].map(async () => (await openTestRedisLog('redis://mymaster', { sentinels })).log),
    );

    const acknowledged = new Map<number, Offset>();
    let isDone = false;
    const writers = logs.map(async (log, writer) => {
      for (let round = 0; !isDone; round++) {
        const first = writer * 1_000_000 + round * BATCH;
        const stored = await log.append(telemetryBatch(BATCH, { first })).catch(() => undefined);
        if (stored !== undefined)
          for (let index = 0; index < BATCH; index++)
            acknowledged.set(first + index, stored.firstOffset + BigInt(index));
        else await new Promise((resolve) => setTimeout(resolve, 20));
      }
    });
    const readers = logs.map((log) => follow(log, () => isDone));
    await until('both write', () => acknowledged.size > 500);
    if (isBehind) {
      await follower.replicaof('127.0.0.1', '1');
      const before = acknowledged.size;
      await until('the master alone has more', () => acknowledged.size > before + 200);
    }
    await master.stop();
    const before = acknowledged.size;
    await until('they go on with the replica', () => acknowledged.size > before + 200);
    isDone = true;
    await Promise.all(writers);

    const stored = await Promise.all(logs.map(storedNumbers));
    expect(stored[1]).toEqual(stored[0]);
    const kept = new Set(stored[0]);
    const lost = [...acknowledged.keys()].filter((number) => !kept.has(number));
    expect(new Set(acknowledged.values()).size).toBe(acknowledged.size);
    for (const { seen, epochs } of await Promise.all(readers)) {
      // Even if nothing is lost, because nobody can know it.
      expect(epochs).toHaveLength(2);
      // Each acknowledged message was read, or was lost with the epoch.
      const read = new Set(seen.map(([, number]) => number));
      const silent = [...acknowledged.keys()].filter((number) => kept.has(number) && !read.has(number));
      expect(silent).toEqual([]);
      const offsets = seen.map(([offset]) => offset);
      expect(offsets).toEqual(offsets.toSorted((a, b) => (a < b ? -1 : 1)));
      expect(new Set(offsets).size).toBe(offsets.length);
    }
    if (isBehind) expect(lost.length).toBeGreaterThan(0);
  },
);

test('wrong sentinels, and a sentinel or a cluster as the server, are reported with advice', async () => {
  const server = await startServer();
  const sentinel = await startSentinel(server.port);
  onTestFinished(sentinel.stop);
  const cluster = await startServer({ 'cluster-enabled': 'yes', 'cluster-port': String(await freePort()) });
  const address = `redis://127.0.0.1:${sentinel.port}`;
  const problemOf = (url: string, sentinels?: string[]) =>
    openRedisConnection({ url, sentinels, logger: silentLogger }).then(
      () => 'none',
      (error) => `${error.code}: ${error.message}`,
    );
  expect(await problemOf('redis://mymaster', ['redis://127.0.0.1:1'])).toMatch(
    /^RedisUnreachable: .*sentinels are unreachable.*stream\.redisSentinels/,
  );
  expect(await problemOf('redis://nobody', [address])).toMatch(/^RedisUnreachable: .*stream\.redisSentinels/);
  expect(await problemOf(address)).toMatch(/^RedisSentinel: .*name it in stream\.redisSentinels/);
  expect(await problemOf(cluster.url)).toMatch(/^RedisCluster: .*a server of its own/);
});

test('if replicas are required, messages are acknowledged once the replicas have them, and refused otherwise', {
  tags: ['slow'],
}, async () => {
  const master = await startServer({ 'repl-diskless-sync-delay': '0' });
  const { log } = await openTestRedisLog(master.url, { replicasMin: 1 });
  const refusal = await log.append(telemetryBatch(1, { first: 0 })).catch((error) => error);
  expect(refusal).toMatchObject({ code: 'StorageUnavailable', retryAfterSeconds: 1 });
  expect(String(refusal.cause)).toMatch(
    /^TransientError: 0 of at least 1 replica of Redis at 127.*not acknowledged.*lower this setting/,
  );
  const replica = await startServer({ replicaof: `127.0.0.1 ${master.port}` });
  await until('the replica follows', () =>
    log.append(telemetryBatch(1, { first: 0 })).then(
      () => true,
      () => false,
    ),
  );
  // A replica that is late makes the log refuse, and the sender sends again.
  let lastOffset = 0n;
  await until('the replica has three messages more', () =>
    log.append(telemetryBatch(3, { first: 10 })).then(
      (appended) => {
        lastOffset = appended.lastOffset;
        return true;
      },
      () => false,
    ),
  );
  await master.stop();
  await log.close();
  const admin = new Redis(replica.url);
  onTestFinished(() => admin.disconnect());
  await admin.replicaof('NO', 'ONE');
  const { log: after } = await openTestRedisLog(replica.url);
  const numbers = await storedNumbers(after);
  expect(numbers.slice(-3)).toEqual([10, 11, 12]);
  expect((await after.bounds()).next).toBeGreaterThan(lastOffset);
  // The refused messages are stored nevertheless, once for each send.
  expect(new Set(numbers)).toEqual(new Set([0, 10, 11, 12]));
});

test('the passwords of sentinels and master are used and appear in no error or log line', async () => {
  const server = await startServer({ requirepass: 'of-the-master' });
  const sentinel = await startSentinel(server.port, [
    'requirepass of-the/sentinel@1',
    'sentinel auth-pass mymaster of-the-master',
  ]);
  onTestFinished(sentinel.stop);
  const lines: unknown[] = [];
  const write = (...line: unknown[]) => lines.push(line);
  const logger: Logger = Object.assign(Object.create(silentLogger), {
    warn: write,
    error: write,
    info: write,
  });
  const address = (password: string) => [
    `redis://:${encodeURIComponent(password)}@127.0.0.1:${sentinel.port}`,
  ];
  const { log: subject } = await openTestRedisLog('redis://:of-the-master@mymaster', {
    sentinels: address('of-the/sentinel@1'),
    logger,
  });
  expect(await subject.append(telemetryBatch(2))).toMatchObject({ count: 2 });
  for (const password of ['of-the-sentinal', '']) {
    const url = 'redis://:of-the-master@mymaster';
    const refused = openRedisConnection({ url, sentinels: address(password), logger });
    await expect(refused).rejects.toMatchObject({
      code: 'RedisUnreachable',
      message: expect.stringMatching(/(NOAUTH|WRONGPASS).*stream\.redisSentinels/),
    });
    lines.push(String(await refused.catch(String)));
  }
  expect(JSON.stringify(lines)).not.toMatch(/of-the/);
});

async function startServer(settings: Record<string, string> = {}): Promise<TestRedis> {
  const server = await startRedis({ appendonly: 'yes', appendfsync: 'always', ...settings });
  onTestFinished(server.stop);
  return server;
}

/** Follows the log like a client, and starts again from the oldest message if its position is gone. */
async function follow(log: StreamLog, isOver: () => boolean) {
  const seen: Array<[offset: Offset, number: number]> = [];
  const epochs: string[] = [];
  let position: Offset = 0n;
  for (;;) {
    const wasOver = isOver();
    const outcome = await log
      .read({ from: position, limit: 1_000, bytesMax: 1e6, oneAtLeast: true })
      .catch(() => undefined);
    if (outcome === undefined) {
      await new Promise((resolve) => setTimeout(resolve, 20));
      continue;
    }
    if (outcome.bounds.epoch !== epochs.at(-1)) epochs.push(outcome.bounds.epoch);
    if (outcome.kind !== 'batch') throw new Error(`a position that was given is ${outcome.kind}`);
    for (const message of decodeParts(outcome.parts))
      seen.push([BigInt(message.offset), 'msg_id' in message ? Number(message.msg_id) : -1]);
    position = outcome.nextOffset;
    if (wasOver && outcome.upToDate) return { seen, epochs };
    if (outcome.upToDate) await log.waitFor(position, AbortSignal.timeout(200));
  }
}

async function storedNumbers(log: StreamLog): Promise<number[]> {
  const { seen } = await follow(log, () => true);
  return seen.map(([, number]) => number);
}
