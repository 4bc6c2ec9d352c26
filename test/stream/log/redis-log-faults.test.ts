import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { Offset } from '../../../src/contract/offset.ts';
import { type Logger, silentLogger } from '../../../src/lib/logger.ts';
import { openRedisConnection } from '../../../src/redis/redis-connection.ts';
import { startCuttingProxy } from '../../support/cutting-proxy.ts';
import { telemetryBatch } from '../../support/messages.ts';
import { identitiesOf, openTestRedisLog, readToTail } from '../../support/redis-log.ts';
import { createTestClock, settle } from '../../support/test-clock.ts';
import { until } from '../../support/until.ts';
import { admin, boundsOnceThere, never, server, start } from './start-redis-log.ts';

describe('a Redis that fails', () => {
  test('loses, doubles and reorders no acknowledged message when it is killed and restarted under load', async () => {
    await start({ appendonly: 'yes', appendfsync: 'always' });
    const logs = [(await openTestRedisLog(server.url)).log, (await openTestRedisLog(server.url)).log];
    const acknowledged = new Map<number, Offset>();
    let readsRefused = 0;
    let isDone = false;
    let areAllStored = false;
    let following: Offset | 'oldest' = 'oldest';
    const followed: string[] = [];
    const reader = (async () => {
      for (;;) {
        const isLast = areAllStored;
        try {
          const { messages } = await readToTail(logs[1]!, following);
          followed.push(...identitiesOf(messages));
          if (messages.length > 0) following = BigInt(messages.at(-1)!.offset) + 1n;
          if (isLast) return;
          if (following !== 'oldest') await logs[1]!.waitFor(following, AbortSignal.timeout(200));
        } catch (error) {
          expect(error).toMatchObject({ code: 'StorageUnavailable', retryAfterSeconds: 1 });
          readsRefused++;
          await settle();
        }
      }
    })();
    const writers = Array.from({ length: 6 }, async (_, writer) => {
      for (let round = 0; !isDone; round++) {
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
    isDone = true;
    await Promise.all(writers);
    areAllStored = true;
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

  test('stores a chunk once and acknowledges it, even if its answer was lost', async () => {
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

  test('refuses appends and reads while it is down, keeps readers waiting, and recovers by itself', {
    tags: ['slow'],
  }, async () => {
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

  test('refuses appends with a reason when its memory is full, still serves reads, and recovers with a trim', async () => {
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
        error: `Redis at 127.0.0.1:${server.port} refused: its memory is full: raise maxmemory, or shorten stream.retention`,
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

  test('works for a user with the documented rights, and names missing rights', async () => {
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

  test('causes one warning for each setting that could lose messages, and no text shows the password', async () => {
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
