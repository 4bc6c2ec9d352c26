import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import type { Offset } from '../../../src/contract/offset.ts';
import { silentLogger } from '../../../src/lib/logger.ts';
import { systemClock } from '../../../src/lib/time.ts';
import { openRedisConnection } from '../../../src/redis/redis-connection.ts';
import { openRedisLog } from '../../../src/stream/log/redis/redis-log.ts';
import { startCuttingProxy } from '../../support/cutting-proxy.ts';
import { telemetryBatch } from '../../support/messages.ts';
import { identitiesOf, openTestRedisLog, readToTail } from '../../support/redis-log.ts';
import { createTestClock, settle } from '../../support/test-clock.ts';
import { admin, byOffset, followUntil, never, server, start } from './start-redis-log.ts';

describe('two processes on one log in Redis', () => {
  beforeEach(() => start());

  test('see every message once and in one order, through any process', { tags: ['slow'] }, async () => {
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

  test('read at once what the other has acknowledged, without news', async () => {
    const [a, b] = [await openTestRedisLog(server.url), await openTestRedisLog(server.url)];
    for (let round = 0; round < 50; round++) {
      const { firstOffset } = await a.log.append(telemetryBatch(1, { first: round }));
      const outcome = await b.log.read({ from: firstOffset, limit: 1, bytesMax: 1e6, oneAtLeast: true });
      expect(outcome).toMatchObject({ kind: 'batch', count: 1, upToDate: true });
    }
  });

  test('append and read ten thousand messages in a handful of round trips', async () => {
    const [a, b] = [await openTestRedisLog(server.url), await openTestRedisLog(server.url)];
    const roundTrips = async () => {
      const facts = await admin.info('commandstats');
      const calls = ['evalsha', 'eval', 'exec', 'mget'].map((name) =>
        Number(new RegExp(`cmdstat_${name}:calls=(\\d+)`).exec(facts)?.[1] ?? 0),
      );
      return calls.reduce((sum, count) => sum + count);
    };
    // Each script is sent to the server once.
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

  test('both wake their readers for a message, even if the news was lost', async () => {
    const clock = createTestClock();
    const { log: a } = await openTestRedisLog(server.url);
    // Without a timer that ends, only news can wake its readers.
    const { log: b } = await openTestRedisLog(server.url, { startTimer: clock.startTimer });
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

  test('report a gap if the other has trimmed a chunk early', async () => {
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
    for (const [log, from, limit] of [
      [unread, lastOffset, 2],
      [a, firstOffset + 1n, 10],
    ] as const) {
      const read = await log.read({ from, limit, bytesMax: 1e6, oneAtLeast: true });
      expect(read).toMatchObject({ kind: 'expired' });
      expect((await readToTail(log, lastOffset + 1n)).messages).toHaveLength(3);
    }
  });

  test('do not see another log if news arrives before the answer to a read', async () => {
    const { log: a } = await openTestRedisLog(server.url);
    await a.append(telemetryBatch(2, { first: 0 }));
    const redis = await openRedisConnection({ url: server.url, logger: silentLogger });
    onTestFinished(() => redis.close());
    let following: Offset | undefined;
    const run: typeof redis.run = async (script, keys, values, ...rest) => {
      const answer = await redis.run(script, keys, values, ...rest);
      if (values[0] === 'page' && following === undefined) {
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

  test('ask Redis after unknown news, whatever its text', async () => {
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

  test('wake their readers after a reconnect if messages arrived meanwhile', async () => {
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
