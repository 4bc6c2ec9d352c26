import type { Offset } from '../../contract/offset.ts';
import type { Chunk } from './chunk.ts';

/**
 * The newest chunks of a log in memory. If other processes append too, some chunks between these may be
 * missing.
 */
interface ChunkCache {
  /** Adds a chunk. Returns the newest offset that was dropped to make room. */
  add(chunk: Chunk): Offset | undefined;
  /**
   * The first chunk of the log that ends at or after `offset`. Undefined if the cache may lack this chunk.
   */
  chunkFrom(offset: Offset): Chunk | undefined;
  /** The first chunk of the cache that ends at or after `offset`. */
  following(offset: Offset): Chunk | undefined;
  /** The first offset of the oldest chunk; undefined while the cache is empty. */
  readonly startsAt: Offset | undefined;
  /** Drops the chunks that end before `offset`. Returns the newest offset that was dropped. */
  dropBefore(offset: Offset): Offset | undefined;
  clear(): void;
}

/**
 * The objects of a chunk and each of its names take about this much memory in addition to the value, measured
 * with 4,000 chunks of 1, 20 and 200 devices.
 */
const CHUNK_OVERHEAD_BYTES = 1_536;
const NAME_BYTES = 64;

/** @param bytesMax memory of the chunks; the newest chunk stays in any case */
export function createChunkCache(bytesMax: number): ChunkCache {
  /** In the order of the log. */
  let chunks: Chunk[] = [];
  /**
   * Chunks before this index are dropped. They are removed from the array when they are more than half of it,
   * because each removal copies the rest.
   */
  let start = 0;
  let bytes = 0;

  const dropFirst = (): Offset => {
    const chunk = chunks[start]!;
    bytes -= sizeOf(chunk);
    start++;
    if (start * 2 > chunks.length) {
      chunks = chunks.slice(start);
      start = 0;
    }
    return chunk.lastOffset;
  };

  return {
    add(chunk) {
      const index = indexReaching(chunks, chunk.firstOffset, start);
      if (chunks[index]?.firstOffset === chunk.firstOffset) return undefined;
      if (index === chunks.length) chunks.push(chunk);
      else chunks.splice(index, 0, chunk);
      bytes += sizeOf(chunk);
      let dropped: Offset | undefined;
      while (bytes > bytesMax && chunks.length - start > 1) dropped = dropFirst();
      return dropped;
    },
    chunkFrom(offset) {
      const index = indexReaching(chunks, offset, start);
      const chunk = chunks[index];
      if (chunk === undefined || chunk.firstOffset <= offset) return chunk;
      return index > start && isNext(chunks[index - 1]!, chunk) ? chunk : undefined;
    },
    following: (offset) => chunks[indexReaching(chunks, offset, start)],
    get startsAt() {
      return chunks[start]?.firstOffset;
    },
    dropBefore(offset) {
      let dropped: Offset | undefined;
      while (start < chunks.length && chunks[start]!.lastOffset < offset) dropped = dropFirst();
      return dropped;
    },
    clear() {
      chunks = [];
      start = 0;
      bytes = 0;
    },
  };
}

/** The index, from `low` on, of the first chunk that ends at or after `offset`. */
export function indexReaching(chunks: readonly Chunk[], offset: Offset, low = 0): number {
  let high = chunks.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (chunks[middle]!.lastOffset < offset) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** True if no message lies between two chunks. Ordinals have no gaps, but offsets have. */
function isNext(before: Chunk, chunk: Chunk): boolean {
  return before.firstOrdinal + before.count === chunk.firstOrdinal;
}

function sizeOf(chunk: Chunk): number {
  const names = chunk.tables.length + chunk.devices.length;
  return chunk.value.byteLength + CHUNK_OVERHEAD_BYTES + names * NAME_BYTES;
}
