import { copyFile, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import type { Offset } from '../../../src/contract/offset.ts';
import { type Logger, silentLogger } from '../../../src/lib/logger.ts';
import { systemClock } from '../../../src/lib/time.ts';
import { startSystemTimer } from '../../../src/lib/timer.ts';
import { openRedisConnection } from '../../../src/stream/log/redis/redis-connection.ts';
import { openRedisLog } from '../../../src/stream/log/redis/redis-log.ts';
import { pageScript } from '../../../src/stream/log/redis/redis-scripts.ts';
import type { StreamLog } from '../../../src/stream/log/stream-log.ts';
import { poll } from '../../../src/stream/rest/long-poll.ts';
import { startCuttingProxy } from '../../support/cutting-proxy.ts';
import { telemetryBatch } from '../../support/messages.ts';
import { startRedis, type TestRedis } from '../../support/redis.ts';
import { identitiesOf, openTestRedisLog, readToTail } from '../../support/redis-log.ts';
import { createTestClock, settle } from '../../support/test-clock.ts';
import { until } from '../../support/until.ts';

const never = new AbortController().signal;
let server: TestRedis;
let admin: Redis;

async function start(settings: Record<string, string> = {}): Promise<void> {
  server = await startRedis(settings);
  admin = new Redis(server.url, { retryStrategy: () => 20 });
  admin.on('error', () => undefined);
  onTestFinished(async () => {
    admin.disconnect();
    await server.stop();
  });
}

describe('two processes on one log in Redis', () => {
  beforeEach(() => start());

  test('see every message once and in one order, whichever of them it came through', async () => {
    const clocks = [createTestClock(), createTestClock()];
    const logs = await Promise.all(
      clocks.map(async (clock) => (await openTestRedisLog(server.url, { clock, cacheBytesMax: 30_000 })).log),
    );
    const acknowledged: string[] = [];
    const readers = logs.map((log) => followUntil(log, 1_200));
    await Promise.all(
      Array.from({ length: 8 }, async (_, writer) => {
        for (let round = 0; round < 30; round++) {
          clocks[writer % 2]!.set(clocks[writer % 2]!.now() + (round % 5) - 2);
          const first = writer * 1_000 + round * 10;
          const { firstOffset } = await logs[writer % 2]!.append(telemetryBatch(5, { first }));
          for (let index = 0; index < 5; index++)
            acknowledged.push(`${firstOffset + BigInt(index)} ${first + index}`);
        }
      }),
    );
    const seen = await Promise.all(readers);
    expect(seen[0]).toEqual(acknowledged.toSorted(byOffset));
    expect(seen[1]).toEqual(seen[0]);
    const { log: third } = await openTestRedisLog(server.url, { clock: clocks[0]! });
    expect(identitiesOf((await readToTail(third)).messages)).toEqual(seen[0]);
    expect(await third.countFrom(0n)).toBe(1_200);
  });

  test('what one has acknowledged, the other reads at once, without being told', async () => {
    const [a, b] = [await openTestRedisLog(server.url), await openTestRedisLog(server.url)];
    for (let round = 0; round < 50; round++) {
      const { firstOffset } = await a.log.append(telemetryBatch(1, { first: round }));
      const outcome = await b.log.read({ from: firstOffset, limit: 1, bytesMax: 1e6, oneAtLeast: true });
      expect(outcome).toMatchObject({ kind: 'batch', count: 1, upToDate: true });
    }
  });

  test('ten thousand messages are appended, and read by another, in a handful of round trips', async () => {
    const [a, b] = [await openTestRedisLog(server.url), await openTestRedisLog(server.url)];
    const roundTrips = async () => {
      const facts = await admin.info('commandstats');
      const calls = ['evalsha', 'eval', 'exec', 'mget'].map((name) =>
        Number(new RegExp(`cmdstat_${name}:calls=(\\d+)`).exec(facts)?.[1] ?? 0),
      );
      return calls.reduce((sum, count) => sum + count);
    };
    // The server has to be told each script once.
    await a.log.append(telemetryBatch(1));
    await readToTail(b.log);
    const before = await roundTrips();
    const { firstOffset } = await a.log.append(telemetryBatch(10_000));
    const appended = await roundTrips();
    const read = await b.log.read({ from: firstOffset, limit: 10_000, bytesMax: 8e6, oneAtLeast: true });
    expect(read).toMatchObject({ kind: 'batch', count: 10_000 });
    expect(appended - before).toBeLessThanOrEqual(2);
    expect((await roundTrips()) - appended).toBeLessThanOrEqual(4);
  });

  test('a message wakes all who wait, in both, and news that got lost holds nobody up', async () => {
    const clock = createTestClock();
    const { log: a } = await openTestRedisLog(server.url);
    const { log: b } = await openTestRedisLog(server.url);
    const redis = await openRedisConnection({ url: server.url, logger: silentLogger });
    onTestFinished(() => redis.close());
    const deaf = await openRedisLog({
      redis: Object.assign(Object.create(redis), { subscribe: async () => async () => undefined }),
      workgroupId: 'acme',
      clock: { now: Date.now },
      retentionMs: 3_600_000,
      cacheBytesMax: 1e6,
      logger: silentLogger,
      startTimer: clock.startTimer,
    });
    let deafWoken = false;
    const waits = [a, a, b, b].map((log) => log.waitFor(0n, never));
    const deafWait = deaf.waitFor(0n, never).then(() => {
      deafWoken = true;
    });
    await a.append(telemetryBatch(1));
    await Promise.all(waits);
    await settle();
    expect(deafWoken).toBe(false);
    await clock.advance(1_000);
    await deafWait;
    await deaf.close();
  });

  test('a chunk that one trims early is a gap that the other is told of', async () => {
    const [clock, ahead] = [createTestClock(), createTestClock()];
    const { log: a } = await openTestRedisLog(server.url, { clock, cacheBytesMax: 1 });
    const { log: unread } = await openTestRedisLog(server.url, { clock });
    const { log: b } = await openTestRedisLog(server.url, { clock: ahead });
    const { firstOffset, lastOffset } = await a.append(telemetryBatch(3));
    await clock.advance(1_000);
    await a.append(telemetryBatch(3));
    expect((await unread.bounds()).earliest).toBe(firstOffset);
    await ahead.advance(3_600_500);
    await b.trim();
    expect(await admin.keys('*:messages:*')).toHaveLength(1);
    for (const [log, limit] of [
      [unread, 2],
      [a, 10],
    ] as const) {
      const read = await log.read({ from: firstOffset + 1n, limit, bytesMax: 1e6, oneAtLeast: true });
      expect(read).toMatchObject({ kind: 'expired' });
      expect((await readToTail(log, lastOffset + 1n)).messages).toHaveLength(3);
    }
  });

  test('news that overtakes the answer to a read does not make the log look like another one', async () => {
    const { log: a } = await openTestRedisLog(server.url);
    await a.append(telemetryBatch(2, { first: 0 }));
    const redis = await openRedisConnection({ url: server.url, logger: silentLogger });
    onTestFinished(() => redis.close());
    let following: Offset | undefined;
    const run: typeof redis.run = async (script, ...rest) => {
      const answer = await redis.run(script, ...rest);
      if (script === pageScript && following === undefined) {
        const { firstOffset } = await a.append(telemetryBatch(1, { first: 10 }));
        await b.waitFor(firstOffset, never);
        following = firstOffset;
      }
      return answer;
    };
    const slow: typeof redis = Object.assign(Object.create(redis), { run });
    const options = { clock: systemClock, retentionMs: 3_600_000, cacheBytesMax: 1, logger: silentLogger };
    const b = await openRedisLog({ ...options, redis: slow, workgroupId: 'acme' });
    onTestFinished(() => b.close());
    expect((await b.chunkFrom(0n))?.count).toBe(2);
    expect(await b.read({ from: following!, limit: 10, bytesMax: 1e6, oneAtLeast: true })).toMatchObject({
      count: 1,
    });
  });

  test('news that nobody of us has told makes them look for themselves, whatever it says', async () => {
    const { log } = await openTestRedisLog(server.url);
    const { lastOffset } = await log.append(telemetryBatch(1));
    for (const news of [
      '',
      'x',
      'a b c d e f',
      'a b 1-1 5 9-9',
      `x ${(await log.bounds()).epoch} 1-0 1 99-zz 2`,
    ])
      expect(await admin.publish('wattline:stream:{acme}:news', news)).toBe(1);
    await settle();
    expect((await log.bounds()).next).toBe(lastOffset + 1n);
    expect((await log.append(telemetryBatch(1))).firstOffset).toBeGreaterThan(lastOffset);
  });

  test('what came while a connection was cut wakes those who wait as soon as it is there again', async () => {
    const proxy = await startCuttingProxy(server.port);
    onTestFinished(() => proxy.close());
    const { log: a } = await openTestRedisLog(server.url);
    const redis = await openRedisConnection({ url: `redis://127.0.0.1:${proxy.port}`, logger: silentLogger });
    onTestFinished(() => redis.close());
    const options = { clock: systemClock, retentionMs: 3_600_000, cacheBytesMax: 1e6, logger: silentLogger };
    const { startTimer } = createTestClock();
    const b = await openRedisLog({ ...options, redis, workgroupId: 'acme', startTimer });
    onTestFinished(() => b.close());
    const waited = b.waitFor(0n, never);
    proxy.cut();
    await a.append(telemetryBatch(1));
    proxy.mend();
    await waited;
  });
});

describe('a log in Redis that is lost', () => {
  test('begins a new epoch when everything was deleted; offsets go on, waiters hear of it, old positions have expired', async () => {
    await start();
    const { log: a } = await openTestRedisLog(server.url);
    const { log: b } = await openTestRedisLog(server.url);
    await a.append(telemetryBatch(2));
    const { firstOffset, lastOffset } = await a.append(telemetryBatch(2));
    const before = await b.bounds();
    await admin.flushall();
    const waited = b.waitFor(before.next, never);
    const after = await a.append(telemetryBatch(1));
    await waited;
    expect(after.firstOffset).toBeGreaterThan(lastOffset);
    const epochs = await Promise.all([a, b].map(async (log) => (await log.bounds()).epoch));
    expect(epochs[0]).toBe(epochs[1]);
    expect(epochs[0]).not.toBe(before.epoch);
    for (const log of [a, b]) {
      const read = await log.read({ from: firstOffset, limit: 10, bytesMax: 1e6, oneAtLeast: true });
      expect(read).toMatchObject({
        kind: 'expired',
        bounds: { epoch: epochs[0], earliest: after.firstOffset },
      });
      expect((await readToTail(log)).messages).toHaveLength(1);
    }
  });

  test('begins a new epoch when an older copy of it takes over, which all find the same, and repeats no offset', async () => {
    await start();
    // The clock stands still, so that nothing but memory keeps offsets from being given twice.
    const clock = createTestClock();
    const { log: a } = await openTestRedisLog(server.url, { clock });
    const { log: b } = await openTestRedisLog(server.url, { clock });
    const kept = await a.append(telemetryBatch(3, { first: 0 }));
    await saveCopy('early.rdb');
    const lost = await b.append(telemetryBatch(5, { first: 100 }));
    expect((await readToTail(a)).messages).toHaveLength(8);
    const { epoch } = await a.bounds();
    const waited = b.waitFor(lost.lastOffset + 1n, never);
    await takeOver('early.rdb');
    await waited;
    const epochs = await Promise.all([a, b].map(async (log) => (await boundsOnceThere(log)).epoch));
    expect(epochs[0]).not.toBe(epoch);
    expect(epochs[1]).toBe(epochs[0]);
    const appended = await b.append(telemetryBatch(1, { first: 200 }));
    expect(appended.firstOffset).toBeGreaterThan(lost.lastOffset);
    for (const log of [a, b]) {
      const { messages } = await readToTail(log);
      expect(messages.map((message) => 'msg_id' in message && message.msg_id)).toEqual([0, 1, 2, 200]);
      expect((await readToTail(log, kept.lastOffset + 1n)).bounds.epoch).toBe(epochs[0]);
      expect(await log.countFrom(0n)).toBe(4);
    }

    // The copy comes back once more: the epoch that it knows must not.
    await takeOver('early.rdb');
    const again = (await boundsOnceThere(a)).epoch;
    expect([epoch, epochs[0]]).not.toContain(again);
    expect((await boundsOnceThere(b)).epoch).toBe(again);
    expect((await a.append(telemetryBatch(1))).firstOffset).toBeGreaterThan(appended.lastOffset);
  });

  test('never mixes with the one that follows it in an answer', async () => {
    await start();
    const { log: a } = await openTestRedisLog(server.url);
    const { log: b } = await openTestRedisLog(server.url);
    const { lastOffset } = await a.append(telemetryBatch(2, { first: 0 }));
    const { epoch } = await b.bounds();
    const waits = Promise.withResolvers<void>();
    const { waitFor } = b;
    b.waitFor = (position, signal) => {
      waits.resolve();
      return waitFor(position, signal);
    };
    const answered = poll(
      b,
      { start: { kind: 'oldest' }, limit: 10, bytesMax: 1e6, holdMs: 20_000, filter: {} },
      { clock: systemClock, startTimer: startSystemTimer, retentionMs: 3_600_000, signal: never },
    );
    await waits.promise;
    await admin.flushall();
    await a.append(telemetryBatch(3, { first: 100 }));
    const { parts: _messages, ...answer } = await answered;
    expect(answer).toMatchObject({ count: 2, epoch, nextOffset: lastOffset + 1n, upToDate: false });
    expect((await readToTail(b, lastOffset + 1n)).messages).toHaveLength(3);
  });

  test('says so where Redis dropped a part of it', async () => {
    await start();
    const { log } = await openTestRedisLog(server.url, { cacheBytesMax: 1 });
    const dropped = await log.append(telemetryBatch(2));
    const [key] = await admin.keys('*:messages:*');
    const { firstOffset } = await log.append(telemetryBatch(2));
    await admin.del(key!);
    const read = await log.read({ from: dropped.firstOffset, limit: 10, bytesMax: 1e6, oneAtLeast: true });
    expect(read).toMatchObject({ kind: 'expired', bounds: { earliest: firstOffset } });
    expect((await readToTail(log)).messages).toHaveLength(2);
  });

  test.each([
    ['may', '+info'],
    ['may not', '-info'],
  ])(
    'is found out although somebody who does not know has gone on with the older copy, where they %s ask which server it is',
    async (_, info) => {
      await start({ user: `default on nopass ~* &* +@all ${info}` });
      const proxy = await startCuttingProxy(server.port);
      onTestFinished(() => proxy.close());
      const { log: a } = await openTestRedisLog(`redis://127.0.0.1:${proxy.port}`);
      await a.append(telemetryBatch(3, { first: 0 }));
      await saveCopy('early.rdb');
      const lost = await a.append(telemetryBatch(5, { first: 100 }));
      const { epoch } = await a.bounds();
      proxy.cut();
      await takeOver('early.rdb');
      // It has no memory of what was lost.
      const { log: unaware } = await openTestRedisLog(server.url);
      const gone = await unaware.append(telemetryBatch(5, { first: 200 }));
      expect(gone.firstOffset).toBeGreaterThan(lost.lastOffset);
      if (info === '-info') expect((await unaware.bounds()).epoch).toBe(epoch);
      else expect((await unaware.bounds()).epoch).not.toBe(epoch);
      proxy.mend();
      const after = (await boundsOnceThere(a)).epoch;
      expect(after).not.toBe(epoch);
      expect((await unaware.bounds()).epoch).toBe(after);
      const { messages } = await readToTail(a);
      expect(messages.map((message) => 'msg_id' in message && message.msg_id)).toEqual([
        0, 1, 2, 200, 201, 202, 203, 204,
      ]);
    },
  );

  test('begins a new epoch where it was started anew while nobody ran, or a replica has taken over, which any number find the same', async () => {
    await start({ appendonly: 'yes', appendfsync: 'always' });
    const epochs: string[] = [];
    const openAll = async () => {
      const logs = await Promise.all(
        Array.from({ length: 4 }, async () => (await openTestRedisLog(server.url)).log),
      );
      const found = new Set(await Promise.all(logs.map(async (log) => (await log.bounds()).epoch)));
      expect(found.size).toBe(1);
      const { firstOffset } = await logs[0]!.append(telemetryBatch(1, { first: epochs.length }));
      expect(firstOffset).toBeGreaterThanOrEqual(lastOffset);
      lastOffset = firstOffset;
      epochs.push(...found);
      for (const log of logs) await log.close();
    };
    let lastOffset = 0n;
    await openAll();
    await openAll();
    expect(new Set(epochs).size).toBe(1);
    await server.restart();
    await openAll();
    expect(new Set(epochs).size).toBe(2);
    // It becomes the replica of one that has never been a master of anything, and is promoted again.
    await admin.replicaof('127.0.0.1', '1');
    await admin.replicaof('NO', 'ONE');
    await openAll();
    await openAll();
    expect(new Set(epochs).size).toBe(3);
    const { log } = await openTestRedisLog(server.url);
    expect((await readToTail(log)).messages).toHaveLength(5);
  });

  test('keeps its epoch when replicas come and go, and begins the next one though memory is full', async () => {
    await start({ appendonly: 'yes', appendfsync: 'always' });
    const { log, redis } = await openTestRedisLog(server.url);
    await log.append(telemetryBatch(1_000));
    const { epoch } = await log.bounds();
    const historyOf = async () => /master_replid:(\w+)/.exec(await admin.info('replication'))?.[1];
    const history = await historyOf();
    const replica = await startRedis({ replicaof: `127.0.0.1 ${server.port}` });
    onTestFinished(replica.stop);
    await until('the replica is there', async () => (await historyOf()) !== history);
    await log.append(telemetryBatch(1_000));
    const other = await openTestRedisLog(server.url);
    expect((await other.log.bounds()).epoch).toBe(epoch);
    // Nobody is to remember.
    await Promise.all([log.close(), other.log.close()]);
    for (const connection of [redis, other.redis]) connection.close();
    await replica.stop();
    await server.restart();
    await admin.config('SET', 'maxmemory', '1000');
    const { log: next } = await openTestRedisLog(server.url);
    expect((await next.bounds()).epoch).not.toBe(epoch);
    expect((await readToTail(next)).messages).toHaveLength(2_000);
  });

  test('keeps its epoch where it only restarts with all it had', async () => {
    await start({ appendonly: 'yes', appendfsync: 'always' });
    const { log } = await openTestRedisLog(server.url);
    const { lastOffset } = await log.append(telemetryBatch(3));
    const { epoch } = await log.bounds();
    await server.restart();
    expect(await boundsOnceThere(log)).toMatchObject({ epoch, next: lastOffset + 1n });
    expect((await readToTail(log)).messages).toHaveLength(3);
  });
});

describe('a Redis that fails', () => {
  test('killed and started again under load, it loses nothing acknowledged, doubles nothing and keeps the order', async () => {
    await start({ appendonly: 'yes', appendfsync: 'always' });
    const logs = [(await openTestRedisLog(server.url)).log, (await openTestRedisLog(server.url)).log];
    const acknowledged = new Map<number, Offset>();
    let readsRefused = 0;
    let done = false;
    let following: Offset | 'oldest' = 'oldest';
    const followed: string[] = [];
    const reader = (async () => {
      for (;;) {
        const finished = done;
        try {
          const { messages } = await readToTail(logs[1]!, following);
          followed.push(...identitiesOf(messages));
          if (messages.length > 0) following = BigInt(messages.at(-1)!.offset) + 1n;
          if (finished) return;
          if (following !== 'oldest') await logs[1]!.waitFor(following, AbortSignal.timeout(200));
        } catch (error) {
          expect(error).toMatchObject({ code: 'StorageUnavailable', retryAfterSeconds: 1 });
          readsRefused++;
          await settle();
        }
      }
    })();
    const writers = Array.from({ length: 6 }, async (_, writer) => {
      for (let round = 0; !done; round++) {
        const first = writer * 1_000_000 + round * 10;
        try {
          const { firstOffset } = await logs[writer % 2]!.append(telemetryBatch(10, { first }));
          for (let index = 0; index < 10; index++)
            acknowledged.set(first + index, firstOffset + BigInt(index));
        } catch (error) {
          expect(error).toMatchObject({ code: 'StorageUnavailable', retryAfterSeconds: 1 });
          await new Promise((resolve) => setTimeout(resolve, 5));
        }
      }
    });
    for (let kill = 0; kill < 4; kill++) {
      const before = acknowledged.size;
      await until('appends go on', () => acknowledged.size > before + 300);
      await server.restart({ downMs: 100 });
    }
    const before = acknowledged.size;
    await until('appends go on', () => acknowledged.size > before + 300);
    done = true;
    await Promise.all(writers);
    await reader;
    expect(readsRefused).toBeGreaterThan(0);
    const stored = (await readToTail(logs[0]!)).messages;
    const numbers = stored.map((message) => Number('msg_id' in message && message.msg_id));
    expect(new Set(numbers).size).toBe(numbers.length);
    const offsetOf = new Map(stored.map((message, index) => [numbers[index]!, BigInt(message.offset)]));
    expect([...acknowledged].filter(([number, offset]) => offsetOf.get(number) !== offset)).toEqual([]);
    expect(followed).toEqual(identitiesOf(stored));
    expect(await logs[0]!.countFrom(0n)).toBe(stored.length);
  });

  test('a chunk whose answer was lost on the way is stored once, and acknowledged all the same', async () => {
    await start();
    const proxy = await startCuttingProxy(server.port);
    onTestFinished(() => proxy.close());
    const { log } = await openTestRedisLog(`redis://127.0.0.1:${proxy.port}`);
    await log.append(telemetryBatch(2, { first: 0 }));
    const lost = proxy.loseAnswerTo('inverter');
    const appended = log.append(telemetryBatch(3, { first: 100 }));
    await lost;
    const { firstOffset, count } = await appended;
    expect(count).toBe(3);
    const { messages } = await readToTail(log);
    expect(messages.map((message) => 'msg_id' in message && message.msg_id)).toEqual([0, 1, 100, 101, 102]);
    expect(messages[2]!.offset).toBe(firstOffset);
    await log.append(telemetryBatch(1, { first: 200 }));
    expect(await log.countFrom(0n)).toBe(6);
  });

  test('while it is down appends and reads are refused, those who wait go on waiting, and it heals by itself', async () => {
    await start({ appendonly: 'yes', appendfsync: 'always' });
    const { log } = await openTestRedisLog(server.url);
    const { firstOffset, lastOffset } = await log.append(telemetryBatch(2));
    let woken = false;
    const waited = log.waitFor(lastOffset + 1n, never).then(() => {
      woken = true;
    });
    await server.restart({
      async whileDown() {
        await until('the connection is gone', () =>
          log.read({ from: firstOffset, limit: 1, bytesMax: 1e6, oneAtLeast: true }).then(
            () => false,
            (error) => error.code === 'StorageUnavailable' && error.retryAfterSeconds === 1,
          ),
        );
        for (const refused of [log.append(telemetryBatch(1)), log.bounds(), log.countFrom(0n)])
          await expect(refused).rejects.toMatchObject({ code: 'StorageUnavailable', retryAfterSeconds: 1 });
      },
    });
    await boundsOnceThere(log);
    expect(woken).toBe(false);
    const appended = await log.append(telemetryBatch(1));
    await waited;
    expect((await readToTail(log)).messages).toHaveLength(3);
    expect(appended.firstOffset).toBeGreaterThan(lastOffset);
  });

  test('out of memory it refuses appends and says why, serves what it has, and heals by a trim', async () => {
    await start();
    const lines: Array<Record<string, unknown>> = [];
    const logger: Logger = Object.assign(Object.create(silentLogger), {
      error: (fields: Record<string, unknown>) => lines.push(fields),
    });
    const clock = createTestClock();
    const { log: subject } = await openTestRedisLog(server.url, { clock, logger });
    const { lastOffset } = await subject.append(telemetryBatch(1_000));
    await admin.config('SET', 'maxmemory', '1000000');
    await expect(
      (async () => {
        for (;;) await subject.append(telemetryBatch(1_000));
      })(),
    ).rejects.toMatchObject({ code: 'StorageUnavailable', retryAfterSeconds: 1 });
    expect(lines).toEqual([
      {
        messages: 1_000,
        problem: `Redis at 127.0.0.1:${server.port} refused: its memory is full: raise maxmemory, or shorten stream.retention`,
      },
    ]);
    const { messages } = await readToTail(subject);
    expect(messages.length % 1_000).toBe(0);
    await clock.advance(3_600_001);
    await subject.trim();
    await admin.config('SET', 'maxmemory', '3000000');
    expect((await subject.append(telemetryBatch(5))).firstOffset).toBeGreaterThan(lastOffset);
    expect(await subject.countFrom(0n)).toBe(5);
  });

  test('a user with the rights that the page names may do everything, one without is told what is missing', async () => {
    const page = await readFile(join(import.meta.dirname, '..', '..', '..', 'docs', 'stream.md'), 'utf8');
    const rights = /ACL SETUSER wattline on >\S+ (.*)/.exec(page)?.[1]?.split(' ') ?? [];
    await start();
    const setUser = (name: string, ...rules: string[]) =>
      admin.call('ACL', 'SETUSER', name, 'on', '>secret', ...rules);
    await setUser('wattline', ...rights);
    await setUser('silent', ...rights, 'resetchannels');
    await setUser('elsewhere', ...rights, 'resetkeys', '~other:*');
    const lines: unknown[] = [];
    const write = (...line: unknown[]) => lines.push(JSON.stringify(line));
    const logger: Logger = Object.assign(Object.create(silentLogger), { warn: write, error: write });
    const urlOf = (user: string, password = 'secret') =>
      `redis://${user}:${password}@127.0.0.1:${server.port}`;
    const open = (url: string) => openTestRedisLog(url, { logger });
    const { log: a } = await open(urlOf('wattline'));
    const { log: b } = await open(urlOf('wattline'));
    const { lastOffset } = await a.append(telemetryBatch(3));
    const waited = b.waitFor(lastOffset + 1n, never);
    await a.append(telemetryBatch(2));
    await waited;
    expect((await readToTail(b)).messages).toHaveLength(5);
    await b.trim();
    expect([...new Set(lines)]).toEqual([expect.stringContaining('appendonly is off')]);
    for (const [url, what] of [
      [server.url.replace('//', '//wattline:wrong@'), /the user or the password in stream.redisUrl is wrong/],
      [urlOf('silent'), /keys and channels.*docs\/stream.md/],
      [urlOf('elsewhere'), /keys and channels.*docs\/stream.md/],
    ] as const)
      await expect(open(url)).rejects.toMatchObject({
        code: 'RedisRefused',
        message: expect.stringMatching(what),
      });
    await admin.config('SET', 'requirepass', 'secret');
    await expect(open(server.url)).rejects.toMatchObject({
      code: 'RedisRefused',
      message: expect.stringMatching(/it wants a password/),
    });
    expect(lines.join()).not.toMatch(/secret/);
  });

  test('settings that lose messages are warned of, once, and no line or error shows the password', async () => {
    await start({ 'maxmemory-policy': 'allkeys-lru' });
    await admin.config('SET', 'requirepass', 'hunter2');
    const lines: unknown[] = [];
    const write = (fields: unknown, event: string) => lines.push([event, fields]);
    const logger: Logger = Object.assign(Object.create(silentLogger), {
      warn: write,
      error: write,
      info: write,
    });
    const url = `redis://:hunter2@127.0.0.1:${server.port}`;
    const { log: subject } = await openTestRedisLog(url, { logger });
    await subject.append(telemetryBatch(1));
    expect(lines).toEqual([
      [
        'stream.redis-may-lose-messages',
        {
          problems: [expect.stringContaining('set noeviction'), expect.stringContaining('appendonly is off')],
        },
      ],
    ]);
    await admin.call('CLIENT', 'KILL', 'TYPE', 'pubsub');
    await admin.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
    await until('the connection is made anew', () => lines.length === 3);
    await boundsOnceThere(subject);
    expect(lines.slice(1)).toMatchObject([
      ['stream.redis-unreachable', {}],
      ['stream.redis-reachable', {}],
    ]);
    const problems = [url.replace('hunter2', 'hunter3'), url.replace(/\d+$/, '1')].map((wrong) =>
      openRedisConnection({ url: wrong, logger }),
    );
    for (const problem of await Promise.allSettled(problems))
      lines.push(
        problem.status === 'rejected' ? [String(problem.reason), JSON.stringify(problem.reason)] : 'opened',
      );
    expect(lines).not.toContain('opened');
    expect(JSON.stringify(lines)).not.toMatch(/hunter/);
  });
});

/** A copy of what Redis holds now, as a replica would have it. */
async function saveCopy(name: string): Promise<void> {
  await admin.save();
  await copyFile(join(server.directory, 'dump.rdb'), join(server.directory, name));
}

/** The server is gone, and one with that copy stands in its place. */
async function takeOver(name: string): Promise<void> {
  await server.restart({
    whileDown: () => copyFile(join(server.directory, name), join(server.directory, 'dump.rdb')),
  });
}

async function boundsOnceThere(log: StreamLog) {
  let bounds: Awaited<ReturnType<StreamLog['bounds']>> | undefined;
  await until('Redis is reached again', async () => {
    bounds = await log.bounds().catch(() => undefined);
    return bounds !== undefined;
  });
  return bounds!;
}

/** Reads as messages come, until there were that many. */
async function followUntil(log: StreamLog, count: number): Promise<string[]> {
  const seen: string[] = [];
  let position: Offset | 'oldest' = 'oldest';
  while (seen.length < count) {
    const { messages } = await readToTail(log, position);
    seen.push(...identitiesOf(messages));
    if (messages.length > 0) position = BigInt(messages.at(-1)!.offset) + 1n;
    if (seen.length < count) await log.waitFor(position === 'oldest' ? 0n : position, never);
  }
  return seen;
}

function byOffset(a: string, b: string): number {
  return BigInt(a.split(' ')[0]!) < BigInt(b.split(' ')[0]!) ? -1 : 1;
}
