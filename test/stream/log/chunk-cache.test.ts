import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type Chunk, joinChunk } from '../../../src/stream/log/chunk.ts';
import { createChunkCache } from '../../../src/stream/log/chunk-cache.ts';
import { telemetryBatch } from '../../support/messages.ts';

/** Chunks of a log with gaps between their offsets. */
function chunksOf(shapes: readonly { count: number; gap: number }[]): Chunk[] {
  let offset = 1_000n;
  let ordinal = 0;
  return shapes.map(({ count, gap }) => {
    offset += BigInt(gap);
    const chunk = joinChunk([telemetryBatch(count)], offset, ordinal);
    offset = chunk.lastOffset + 1n;
    ordinal += count;
    return chunk;
  });
}

const shapes = fc.array(
  fc.record({ count: fc.integer({ min: 1, max: 3 }), gap: fc.integer({ min: 0, max: 3 }) }),
  {
    minLength: 1,
    maxLength: 12,
  },
);

test('the first chunk of the cache is the first chunk of the log, in any order of adding', () => {
  fc.assert(
    fc.property(shapes, fc.array(fc.nat(11)), fc.nat(2_000), fc.nat(80), (given, order, bytesMax, at) => {
      const log = chunksOf(given);
      const cache = createChunkCache(1_500 * (bytesMax % 12));
      for (const index of order) if (log[index]) cache.add(log[index]);
      const offset = 990n + BigInt(at);
      const first = log.find((chunk) => chunk.lastOffset >= offset);
      const found = cache.chunkFrom(offset);
      if (found !== undefined) expect(found).toBe(first);
      const following = cache.following(offset);
      if (following !== undefined && following === first && offset >= first.firstOffset)
        expect(found).toBe(first);
    }),
    { numRuns: 300 },
  );
});

test('a full cache keeps the newest chunks', () => {
  const log = chunksOf(Array.from({ length: 20 }, () => ({ count: 3, gap: 1 })));
  const cache = createChunkCache(6_000);
  for (const chunk of log) cache.add(chunk);
  expect(cache.chunkFrom(log[19]!.firstOffset)).toBe(log[19]);
  expect(cache.chunkFrom(log[0]!.firstOffset)).toBeUndefined();
  // A chunk that is added again takes no room.
  for (let again = 0; again < 5; again++) cache.add(log[19]!);
  expect(cache.chunkFrom(log[18]!.firstOffset)).toBe(log[18]);
  cache.add(log[0]!);
  expect(cache.chunkFrom(log[0]!.firstOffset)).toBeUndefined();
  expect(cache.chunkFrom(log[19]!.lastOffset)).toBe(log[19]);
  cache.dropBefore(log[19]!.lastOffset + 1n);
  expect(cache.following(0n)).toBeUndefined();
});

test('an offset in the gap between two chunks belongs to the later one if no message lies between them', () => {
  const [first, second, third] = chunksOf([
    { count: 1, gap: 0 },
    { count: 1, gap: 3 },
    { count: 1, gap: 3 },
  ]) as [Chunk, Chunk, Chunk];
  const cache = createChunkCache(1e6);
  for (const chunk of [first, third]) cache.add(chunk);
  expect(cache.chunkFrom(third.firstOffset - 1n)).toBeUndefined();
  cache.add(second);
  expect(cache.chunkFrom(first.lastOffset + 1n)).toBe(second);
  expect(cache.chunkFrom(third.firstOffset - 1n)).toBe(third);
});
