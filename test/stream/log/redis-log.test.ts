import { randomUUID } from 'node:crypto';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { type EncodedBatch, encodeMessages } from '../../../src/contract/encode-messages.ts';
import type { Offset } from '../../../src/contract/offset.ts';
import { silentLogger } from '../../../src/lib/logger.ts';
import { MINUTE_MS, systemClock } from '../../../src/lib/time.ts';
import { MEBIBYTE } from '../../../src/lib/units.ts';
import { openRedisConnection, type RedisConnection } from '../../../src/redis/redis-connection.ts';
import type { Chunk } from '../../../src/stream/log/chunk.ts';
import { readRedisHead } from '../../../src/stream/log/redis/redis-heads.ts';
import { openRedisLog } from '../../../src/stream/log/redis/redis-log.ts';
import { openRedisStore } from '../../../src/stream/log/redis/redis-store.ts';
import { deviceId, telemetryBatch } from '../../support/messages.ts';
import { startRedis, type TestRedis } from '../../support/redis.ts';
import { createTestClock } from '../../support/test-clock.ts';
import { testLogConformance } from './log-conformance.ts';

let server: TestRedis;
let redis: RedisConnection;
let admin: Redis;

beforeAll(async () => {
  server = await startRedis();
  redis = await openRedisConnection({ url: server.url, logger: silentLogger });
  admin = new Redis(server.url);
});
afterAll(async () => {
  redis.close();
  admin.disconnect();
  await server.stop();
});

testLogConformance({
  name: 'Redis log',
  persists: true,
  createPlace() {
    const workgroupId = randomUUID();
    return {
      open: (options) => openRedisLog({ ...options, redis, workgroupId }),
      async destroy() {
        await admin.del(await admin.keys(`wattline:stream:{${workgroupId}}:*`));
      },
    };
  },
});

const options = { clock: systemClock, retentionMs: 3_600_000, cacheBytesMax: 1, logger: silentLogger };

/** A store with a chunk for each batch, and a function that returns the sizes of the chunks of a page. */
async function storeOf(...batches: EncodedBatch[]) {
  const workgroupId = randomUUID();
  const store = await openRedisStore({ ...options, redis, workgroupId });
  const chunks: Chunk[] = [];
  for (const batch of batches) {
    const chunk = await store.append([batch], Date.now(), undefined);
    if (chunk === 'outdated') throw new Error('an announcement was not expected');
    chunks.push(chunk);
  }
  const page = async (messagesWanted: number, from = 0n, to?: Offset) => {
    const found = await store.page(from, to, messagesWanted);
    return found.kind === 'changed' ? found.kind : found.chunks.map(({ count }) => count);
  };
  return { workgroupId, chunks, page };
}

test('a page has the chunks that hold the wanted messages, from the first to the last position', async () => {
  const { chunks, page } = await storeOf(...[1, 2, 3, 4].map((count) => telemetryBatch(count)));
  expect(await page(1)).toEqual([1]);
  expect(await page(2)).toEqual([1, 2]);
  expect(await page(3)).toEqual([1, 2]);
  expect(await page(4)).toEqual([1, 2, 3]);
  expect(await page(100)).toEqual([1, 2, 3, 4]);
  expect(await page(100, chunks[1]!.lastOffset)).toEqual([2, 3, 4]);
  expect(await page(100, chunks[1]!.lastOffset + 1n, chunks[2]!.lastOffset)).toEqual([3]);
});

test('a page has at most 4 MiB, or one chunk that is larger', async () => {
  const ofSize = (length: number) =>
    encodeMessages([{ device: deviceId(1), event_time: 0, data: { text: 'x'.repeat(length) } }], 'solar');
  const { page } = await storeOf(...new Array(6).fill(ofSize(MEBIBYTE - 1_000)));
  expect(await page(100)).toEqual([1, 1, 1, 1]);
  expect(await (await storeOf(ofSize(5 * MEBIBYTE), telemetryBatch(1))).page(100)).toEqual([1]);
});

test('the end of a log is read without opening it: it is empty if all its messages were trimmed', async () => {
  const workgroupId = randomUUID();
  const clock = createTestClock();
  expect(await readRedisHead(redis, workgroupId)).toBeUndefined();
  const log = await openRedisLog({ ...options, clock, redis, workgroupId });
  onTestFinished(() => log.close());
  const { epoch } = await log.bounds();
  expect(await readRedisHead(redis, workgroupId)).toEqual({ epoch, next: 0n, isEmpty: true });
  const { lastOffset } = await log.append(telemetryBatch(2));
  expect(await readRedisHead(redis, workgroupId)).toEqual({ epoch, next: lastOffset + 1n, isEmpty: false });
  await clock.advance(options.retentionMs + 1);
  await log.trim();
  expect(await readRedisHead(redis, workgroupId)).toEqual({ epoch, next: lastOffset + 1n, isEmpty: true });
});

test('Redis keeps messages for two retentions and ten minutes if nobody trims them', async () => {
  const { workgroupId } = await storeOf(telemetryBatch(1));
  const [key] = await admin.keys(`wattline:stream:{${workgroupId}}:messages:*`);
  const keptMs = await admin.pttl(key!);
  expect(keptMs).toBeLessThanOrEqual(130 * MINUTE_MS);
  expect(keptMs).toBeGreaterThan(129 * MINUTE_MS);
});

test.each([
  ['as many messages as the reader wants', {}],
  ['many messages if the reader sees only some of them', { filter: { table: 'wind' } }],
])('a page is loaded with %s', async (_, filter) => {
  let pages = 0;
  const run: typeof redis.run = (script, keys, values, ...rest) => {
    if (values[0] === 'page') pages++;
    return redis.run(script, keys, values, ...rest);
  };
  const counting: typeof redis = Object.assign(Object.create(redis), { run });
  const log = await openRedisLog({ ...options, redis: counting, workgroupId: randomUUID() });
  onTestFinished(() => log.close());
  for (let chunk = 0; chunk < 12; chunk++) await log.append(telemetryBatch(2, { table: 'wind' }));
  const request = { from: 'oldest', limit: 20, bytesMax: 1e6, oneAtLeast: true, ...filter } as const;
  expect(await log.read(request)).toMatchObject({ count: 20 });
  expect(pages).toBe(1);
});
