import type { Offset } from '../../contract/offset.ts';
import type { Chunk, ChunkSpan } from './chunk.ts';
import { createChunkCache } from './chunk-cache.ts';
import type { ChunkStore } from './chunk-store.ts';

/**
 * The chunks of a log. This process assigns the offsets. Recent chunks come from memory, other chunks from
 * the store.
 * @param next one past the newest message that readers may see
 */
export function createStoredChunks(store: ChunkStore, cacheBytesMax: number, next: () => Offset) {
  const cache = createChunkCache(cacheBytesMax);
  const inCache = (position: Offset) => cache.startsAt !== undefined && position >= cache.startsAt;
  /** The store may already show a chunk that is not synced yet. Readers must not see it. */
  const served = <Span extends ChunkSpan>(span: Span | undefined) =>
    span !== undefined && span.firstOffset < next() ? span : undefined;
  /**
   * The last chunk that came from the store. It is kept, because a reader with a small limit asks for the
   * same chunk many times.
   */
  let loaded: Chunk | undefined;
  return {
    /** The first chunk that ends at or after `position`. */
    from(position: Offset): Chunk | undefined {
      if (inCache(position)) return served(cache.following(position));
      if (loaded === undefined || position < loaded.firstOffset || position > loaded.lastOffset)
        loaded = store.chunkFrom(position);
      return served(loaded);
    },
    /** The position of this chunk, for much less work. */
    spanFrom: (position: Offset): ChunkSpan | undefined =>
      served(inCache(position) ? cache.following(position) : store.spanFrom(position)),
    add: cache.add,
    dropBefore: cache.dropBefore,
    clear: cache.clear,
  };
}
