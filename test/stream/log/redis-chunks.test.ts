import { randomUUID } from 'node:crypto';
import { afterAll, expect, onTestFinished, test } from 'vitest';
import { silentLogger } from '../../../src/lib/logger.ts';
import { HOUR_MS } from '../../../src/lib/time.ts';
import { openRedisConnection } from '../../../src/redis/redis-connection.ts';
import type { Chunk } from '../../../src/stream/log/chunk.ts';
import { createRedisChunks } from '../../../src/stream/log/redis/redis-chunks.ts';
import { openRedisStore } from '../../../src/stream/log/redis/redis-store.ts';
import { telemetryBatch } from '../../support/messages.ts';
import { startRedis } from '../../support/redis.ts';
import { createTestClock, TEST_START_MS } from '../../support/test-clock.ts';

const server = await startRedis();
const redis = await openRedisConnection({ url: server.url, logger: silentLogger });
afterAll(async () => {
  redis.close();
  await server.stop();
});

/** The chunks of a log of five chunks with a message each. The cache has room for about one of them. */
async function openChunks(cacheBytesMax = 1) {
  const store = await openRedisStore({
    ...{ redis, workgroupId: randomUUID(), retentionMs: HOUR_MS, logger: silentLogger },
    clock: createTestClock(),
  });
  onTestFinished(store.close);
  const stored: Chunk[] = [];
  for (let first = 0; first < 5; first++)
    stored.push(
      (await store.append([telemetryBatch(1, { first })], TEST_START_MS + first, undefined)) as Chunk,
    );
  const chunks = createRedisChunks({ store, cacheBytesMax });
  /** The number of the chunk that is at this one's first message, and how it was found. */
  const find = async (number: number, messagesWanted = 10) => {
    const found = chunks.from(stored[number]!.firstOffset, messagesWanted);
    const chunk = await found;
    const at = stored.findIndex((one) => typeof chunk === 'object' && one.firstOffset === chunk.firstOffset);
    return [at, found instanceof Promise ? 'loaded' : 'kept'];
  };
  return { store, stored, chunks, find };
}

test('a page is kept for a reader behind, until the chunks are cleared', async () => {
  const { chunks, find } = await openChunks();
  expect(await find(0)).toEqual([0, 'loaded']);
  expect(await find(0)).toEqual([0, 'kept']);
  expect(await find(1)).toEqual([1, 'kept']);
  chunks.clear();
  expect(await find(1)).toEqual([1, 'loaded']);
  expect(await find(0)).toEqual([0, 'loaded']);
});

test('the newest four pages are kept', async () => {
  const { find } = await openChunks();
  for (const number of [0, 1, 2, 3]) expect(await find(number, 1)).toEqual([number, 'loaded']);
  for (const number of [0, 1, 2, 3]) expect(await find(number, 1)).toEqual([number, 'kept']);
  expect(await find(4, 1)).toEqual([4, 'loaded']);
  expect(await find(0, 1)).toEqual([0, 'loaded']);
});

test('readers of one position share a request, and a later one has its own', async () => {
  const { stored, chunks } = await openChunks();
  const at = stored[0]!.firstOffset;
  const [one, other] = [chunks.from(at, 1), chunks.from(at, 1)];
  expect(one).toBe(other);
  await one;
  chunks.clear();
  const later = chunks.from(at, 1);
  expect(later).not.toBe(one);
  expect(await later).toMatchObject({ firstOffset: at });
});

test('what is in memory is not replaced by a copy from Redis', async () => {
  const { stored, chunks } = await openChunks(1e6);
  chunks.add(stored[2]!);
  expect(await chunks.from(stored[0]!.firstOffset, 10)).toMatchObject({
    firstOffset: stored[0]!.firstOffset,
  });
  expect(chunks.kept(stored[2]!.firstOffset)).toBe(stored[2]);
  expect(chunks.kept(stored[1]!.firstOffset)).toMatchObject({ firstOffset: stored[1]!.firstOffset });
});

test('a position after all chunks has none, and one before a gap has the next one in memory', async () => {
  const { store, stored, chunks } = await openChunks(1e6);
  expect(await chunks.from(stored[4]!.lastOffset + 1n, 10)).toBeUndefined();
  await store.trimBefore(stored[4]!.firstOffset);
  chunks.add(stored[4]!);
  expect(await chunks.from(stored[0]!.firstOffset, 10)).toBe(stored[4]);
});
