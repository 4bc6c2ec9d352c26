import type { Offset } from '../../contract/offset.ts';
import type { Chunk } from './chunk.ts';

/** The newest chunks of a log in memory, without a gap up to its tail. */
export interface ChunkWindow {
  /** Adds the newest chunk. Returns the newest offset that had to be forgotten for it. */
  push(chunk: Chunk): Offset | undefined;
  /** The first chunk whose last message is at or after `offset`, where the window reaches back that far. */
  chunkFrom(offset: Offset): Chunk | undefined;
  /** The window knows every message at or after this offset; undefined while it is empty. */
  readonly startsAt: Offset | undefined;
  /** Forgets chunks that lie whole before `offset`. Returns the newest offset that was forgotten. */
  dropBefore(offset: Offset): Offset | undefined;
  clear(): void;
}

/** What a chunk costs beyond its bytes: objects, names, columns. An estimate, so that tiny chunks count too. */
const CHUNK_OVERHEAD_BYTES = 1_024;

/** @param bytesMax memory the window may take; the newest chunk stays in any case */
export function createChunkWindow(bytesMax: number): ChunkWindow {
  let chunks: Chunk[] = [];
  /** Chunks before this index are forgotten; the array is cut once they are half of it. */
  let start = 0;
  let bytes = 0;

  const forgetFirst = (): Offset => {
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
    push(chunk) {
      chunks.push(chunk);
      bytes += sizeOf(chunk);
      let dropped: Offset | undefined;
      while (bytes > bytesMax && chunks.length - start > 1) dropped = forgetFirst();
      return dropped;
    },
    chunkFrom(offset) {
      let low = start;
      let high = chunks.length;
      while (low < high) {
        const middle = (low + high) >>> 1;
        if (chunks[middle]!.lastOffset < offset) low = middle + 1;
        else high = middle;
      }
      return chunks[low];
    },
    get startsAt() {
      return chunks[start]?.firstOffset;
    },
    dropBefore(offset) {
      let dropped: Offset | undefined;
      while (start < chunks.length && chunks[start]!.lastOffset < offset) dropped = forgetFirst();
      return dropped;
    },
    clear() {
      chunks = [];
      start = 0;
      bytes = 0;
    },
  };
}

function sizeOf(chunk: Chunk): number {
  return chunk.value.byteLength + CHUNK_OVERHEAD_BYTES;
}
