import type { Offset } from '../../../contract/offset.ts';
import type { Chunk } from '../chunk.ts';
import { createChunkCache, indexReaching } from '../chunk-cache.ts';
import type { RedisStore } from './redis-store.ts';

/** The chunks of a log in Redis. Recent chunks come from memory, other chunks are loaded in pages. */
export interface RedisChunks {
  /**
   * The first chunk that ends at or after `position`.
   * @param messagesWanted about how many messages the reader will read from there
   */
  from(position: Offset, messagesWanted: number): Found | Promise<Found>;
  /** The same chunk if it is in memory; undefined otherwise. */
  kept(position: Offset): Chunk | undefined;
  add(chunk: Chunk): void;
  /** Drops the chunks that end before `offset`. */
  dropBefore(offset: Offset): void;
  clear(): void;
}

/** `changed`: Redis has another log than the one this process knows. */
type Found = Chunk | undefined | 'changed';

/** Pages that are kept for readers far behind. */
const PAGES_KEPT = 4;

export function createRedisChunks({
  store,
  cacheBytesMax,
}: {
  store: RedisStore;
  cacheBytesMax: number;
}): RedisChunks {
  const cache = createChunkCache(cacheBytesMax);
  const loading = new Map<Offset, Promise<Found>>();
  let pages: Array<{ from: Offset; chunks: Chunk[] }> = [];

  const load = async (position: Offset, messagesWanted: number): Promise<Found> => {
    const following = cache.following(position);
    const page = await store.page(position, following && following.firstOffset - 1n, messagesWanted);
    if (page.kind === 'changed') return 'changed';
    const { chunks } = page;
    if (chunks.length === 0) return following;
    for (const chunk of chunks) cache.add(chunk);
    pages = [{ from: position, chunks }, ...pages.slice(0, PAGES_KEPT - 1)];
    return chunks[0];
  };
  const inPages = (position: Offset): Chunk | undefined => {
    const page = pages.find(
      ({ from, chunks }) => position >= from && position <= chunks.at(-1)!.lastOffset,
    )?.chunks;
    return page?.[indexReaching(page, position)];
  };

  return {
    from(position, messagesWanted) {
      const chunk = cache.chunkFrom(position) ?? inPages(position);
      if (chunk !== undefined) return chunk;
      let loaded = loading.get(position);
      if (loaded === undefined) {
        loaded = load(position, messagesWanted).finally(() => loading.delete(position));
        loading.set(position, loaded);
      }
      return loaded;
    },
    kept: cache.chunkFrom,
    add: cache.add,
    dropBefore: cache.dropBefore,
    clear() {
      cache.clear();
      pages = [];
    },
  };
}
