import { randomUUID } from 'node:crypto';
import type { Offset } from '../../contract/offset.ts';
import { createChunkCache } from './chunk-cache.ts';
import type { ChunkStore } from './chunk-store.ts';
import { createSequencedLog, type LogOptions } from './sequenced-log.ts';
import type { StreamLog } from './stream-log.ts';

interface MemoryLogOptions extends Omit<LogOptions, 'cacheBytesMax'> {
  /**
   * If the messages need more bytes, the oldest are dropped at any age. Readers that still need them get an
   * error.
   */
  bytesMax: number;
}

/**
 * Creates a log in memory that ends with the process: for tests, and for services that need no durable log.
 */
export function createMemoryLog(options: MemoryLogOptions): StreamLog {
  const store = createMemoryStore(options.bytesMax);
  return createSequencedLog(store, { ...options, cacheBytesMax: 0 });
}

function createMemoryStore(bytesMax: number): ChunkStore {
  const cache = createChunkCache(bytesMax);
  let lastOffset: Offset | undefined;
  let trimmedThrough: Offset | undefined;
  let nextOrdinal = 0;
  return {
    epoch: randomUUID(),
    tail: () => ({ lastOffset, trimmedThrough, nextOrdinal }),
    async append(chunk) {
      trimmedThrough = cache.add(chunk) ?? trimmedThrough;
      lastOffset = chunk.lastOffset;
      nextOrdinal += chunk.count;
    },
    chunkFrom: (offset) => cache.following(offset),
    spanFrom: (offset) => cache.following(offset),
    async trimBefore(offset) {
      trimmedThrough = cache.dropBefore(offset) ?? trimmedThrough;
    },
    async close() {
      cache.clear();
    },
  };
}
