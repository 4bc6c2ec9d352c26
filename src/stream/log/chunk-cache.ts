import type { Offset } from '../../contract/offset.ts';
import type { Chunk } from './chunk.ts';

/** Chunks of a log that others append to as well: the newest of those that came by, with gaps between them. */
export interface ChunkCache {
  /** Keeps a chunk, and forgets the oldest ones where it gets too much. */
  add(chunk: Chunk): void;
  /** The first chunk of the log whose last message is at or after `offset`, where the cache can be sure which it is. */
  chunkFrom(offset: Offset): Chunk | undefined;
  /** The first chunk from there on that is here. */
  following(offset: Offset): Chunk | undefined;
  /** Forgets chunks that lie whole before `offset`. */
  dropBefore(offset: Offset): void;
  clear(): void;
}

/** What a chunk costs beyond its bytes: objects, names, columns. An estimate, so that tiny chunks count too. */
const CHUNK_OVERHEAD_BYTES = 1_024;

export function createChunkCache(bytesMax: number): ChunkCache {
  /** In the order of the log. */
  let chunks: Chunk[] = [];
  let bytes = 0;
  const forgetFirst = () => {
    const chunk = chunks.shift()!;
    bytes -= chunk.value.byteLength + CHUNK_OVERHEAD_BYTES;
  };
  return {
    add(chunk) {
      const index = indexReaching(chunks, chunk.firstOffset);
      if (chunks[index]?.firstOffset === chunk.firstOffset) return;
      if (index === chunks.length) chunks.push(chunk);
      else chunks.splice(index, 0, chunk);
      bytes += chunk.value.byteLength + CHUNK_OVERHEAD_BYTES;
      while (bytes > bytesMax && chunks.length > 1) forgetFirst();
    },
    chunkFrom(offset) {
      const index = indexReaching(chunks, offset);
      const chunk = chunks[index];
      if (chunk === undefined || chunk.firstOffset <= offset) return chunk;
      const before = chunks[index - 1];
      return before !== undefined && isNext(before, chunk) ? chunk : undefined;
    },
    following: (offset) => chunks[indexReaching(chunks, offset)],
    dropBefore(offset) {
      while (chunks.length > 0 && chunks[0]!.lastOffset < offset) forgetFirst();
    },
    clear() {
      chunks = [];
      bytes = 0;
    },
  };
}

/** The index of the first chunk whose last message is at or after `offset`. */
export function indexReaching(chunks: readonly Chunk[], offset: Offset): number {
  let low = 0;
  let high = chunks.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (chunks[middle]!.lastOffset < offset) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Whether no message lies between two chunks: ordinals have no gaps, offsets do. */
function isNext(before: Chunk, chunk: Chunk): boolean {
  return before.firstOrdinal + before.count === chunk.firstOrdinal;
}
