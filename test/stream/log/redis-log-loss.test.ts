import { describe, expect, onTestFinished, test } from 'vitest';
import { offsetOf } from '../../../src/contract/offset.ts';
import { systemClock } from '../../../src/lib/time.ts';
import { startSystemTimer } from '../../../src/lib/timer.ts';
import { SEQUENCER_LEAD_MS } from '../../../src/stream/log/append-queue.ts';
import { poll } from '../../../src/stream/rest/long-poll.ts';
import { startCuttingProxy } from '../../support/cutting-proxy.ts';
import { telemetryBatch } from '../../support/messages.ts';
import { startRedis } from '../../support/redis.ts';
import { openTestRedisLog, readToTail } from '../../support/redis-log.ts';
import { createTestClock } from '../../support/test-clock.ts';
import { until } from '../../support/until.ts';
import { admin, boundsOnceThere, never, saveCopy, server, start, takeOver } from './start-redis-log.ts';

describe('a log in Redis that is lost', () => {
  test('begins a new epoch after everything was deleted: offsets continue, waits end, old positions have expired', async () => {
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

  test('begins a new epoch, the same for all processes, when an older copy takes over, and repeats no offset', {
    tags: ['slow'],
  }, async () => {
    await start();
    // The clock stands still, so only memory prevents repeated offsets.
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
    // A reader does not stay before the offsets that the new epoch skips.
    const { next } = await a.bounds();
    expect(next).toBeGreaterThan(kept.lastOffset + 1n);
    const rest = await a.read({ from: 'oldest', limit: 10, bytesMax: 1e6, oneAtLeast: true });
    expect(rest).toMatchObject({ count: 3, nextOffset: next, upToDate: true });
    const appended = await b.append(telemetryBatch(1, { first: 200 }));
    expect(appended.firstOffset).toBeGreaterThan(lost.lastOffset);
    // A process that is gone may have had a clock that was ahead.
    expect(appended.firstOffset).toBeGreaterThan(offsetOf(clock.now() + SEQUENCER_LEAD_MS));
    for (const log of [a, b]) {
      const { messages } = await readToTail(log);
      expect(messages.map((message) => 'msg_id' in message && message.msg_id)).toEqual([0, 1, 2, 200]);
      expect((await readToTail(log, kept.lastOffset + 1n)).bounds.epoch).toBe(epochs[0]);
      expect(await log.countFrom(0n)).toBe(4);
    }

    // The same copy takes over again. The epoch that it has must not return.
    await takeOver('early.rdb');
    const again = (await boundsOnceThere(a)).epoch;
    expect([epoch, epochs[0]]).not.toContain(again);
    expect((await boundsOnceThere(b)).epoch).toBe(again);
    expect((await a.append(telemetryBatch(1))).firstOffset).toBeGreaterThan(appended.lastOffset);
  });

  test('never shares an answer with the log that follows it', async () => {
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

  test('reports a gap if Redis has dropped a part of it', async () => {
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
    { tags: ['slow'] },
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
      // It does not know what was lost.
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

  test('begins a new epoch, the same for all processes, after a restart without a running process or a promoted replica', {
    tags: ['slow'],
  }, async () => {
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
    // It becomes the replica of an empty master, and is promoted again.
    await admin.replicaof('127.0.0.1', '1');
    await admin.replicaof('NO', 'ONE');
    await openAll();
    await openAll();
    expect(new Set(epochs).size).toBe(3);
    const { log } = await openTestRedisLog(server.url);
    expect((await readToTail(log)).messages).toHaveLength(5);
  });

  test('keeps its epoch when replicas connect and disconnect, and can begin the next one with full memory', {
    tags: ['slow'],
  }, async () => {
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
    // No process is left that remembers.
    await Promise.all([log.close(), other.log.close()]);
    for (const connection of [redis, other.redis]) connection.close();
    await replica.stop();
    await server.restart();
    await admin.config('SET', 'maxmemory', '1000');
    const { log: next } = await openTestRedisLog(server.url);
    expect((await next.bounds()).epoch).not.toBe(epoch);
    expect((await readToTail(next)).messages).toHaveLength(2_000);
  });

  test('keeps its epoch after a restart that lost nothing', { tags: ['slow'] }, async () => {
    await start({ appendonly: 'yes', appendfsync: 'always' });
    const { log } = await openTestRedisLog(server.url);
    const { lastOffset } = await log.append(telemetryBatch(3));
    const { epoch } = await log.bounds();
    await server.restart();
    expect(await boundsOnceThere(log)).toMatchObject({ epoch, next: lastOffset + 1n });
    expect((await readToTail(log)).messages).toHaveLength(3);
  });
});
