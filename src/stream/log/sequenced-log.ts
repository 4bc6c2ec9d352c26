import { laterOffset, nextOffset, type Offset, offsetOf } from '../../contract/offset.ts';
import { StreamError } from '../../contract/stream-errors.ts';
import type { Logger } from '../../lib/logger.ts';
import type { Clock } from '../../lib/time.ts';
import { createAppendQueue } from './append-queue.ts';
import { type Chunk, type ChunkSpan, joinChunk } from './chunk.ts';
import { createChunkCache } from './chunk-cache.ts';
import type { ChunkStore } from './chunk-store.ts';
import { readChunks } from './read-chunks.ts';
import type { LogBounds, LogReadOutcome, LogReadRequest, StreamLog } from './stream-log.ts';
import { createWaiters } from './waiters.ts';

export interface LogOptions {
  clock: Clock;
  retentionMs: number;
  /** Memory for the newest messages. */
  cacheBytesMax: number;
  logger: Logger;
}

/** A log with one sequencer, in this process, in front of a store of chunks. */
export function createSequencedLog(store: ChunkStore, options: LogOptions): StreamLog {
  const { clock, retentionMs } = options;
  const cache = createChunkCache(options.cacheBytesMax);
  const waiters = createWaiters();
  const { epoch } = store;
  let closing: Promise<void> | undefined;
  let closed = false;

  const tail = store.tail();
  let lastOffset = tail.lastOffset;
  /** The newest message that can no longer be read, and the oldest chunk that still can. */
  let goneThrough = tail.trimmedThrough;
  let oldest = store.spanFrom(goneThrough === undefined ? 0n : goneThrough + 1n);

  const next = (): Offset => (lastOffset === undefined ? 0n : lastOffset + 1n);

  /** Offsets are given out once: those of a chunk that could not be stored are not used again. */
  let lastGiven = lastOffset;
  /** Of this process; there was no other while it ran. */
  let announcedTo: Offset | undefined;
  const queue = createAppendQueue({
    clock,
    logger: options.logger,
    async store(batches, nowMs, readTo) {
      if (readTo !== undefined && announcedTo !== undefined && announcedTo >= readTo) return 'outdated';
      const first = nextOffset(lastGiven, nowMs);
      let chunk: Chunk | undefined;
      try {
        chunk = joinChunk(batches, first, store.tail().nextOrdinal);
        lastGiven = chunk.lastOffset;
        await store.append(chunk);
        cache.add(chunk);
        oldest ??= chunk;
        becameStored(chunk.lastOffset);
      } catch (error) {
        lookForStored();
        throw error;
      } finally {
        // Only one that is there: its author tries again where it is not, and has seen nothing newer meanwhile.
        if (readTo !== undefined && chunk !== undefined && lastOffset === chunk.lastOffset)
          announcedTo = chunk.lastOffset;
      }
      return first;
    },
  });
  const becameStored = (stored: Offset) => {
    lastOffset = stored;
    waiters.wake(stored);
  };
  /** Where a fault hit late, the chunk is there all the same. */
  const lookForStored = () => {
    const stored = store.tail().lastOffset;
    if (stored === lastOffset || stored === undefined) return;
    cache.clear();
    oldest ??= store.spanFrom(next());
    becameStored(stored);
  };

  const inCache = (position: Offset) => cache.startsAt !== undefined && position >= cache.startsAt;
  /** The store may already show a chunk whose sync is under way; readers must not. */
  const served = <Span extends ChunkSpan>(span: Span | undefined) =>
    span !== undefined && span.firstOffset < next() ? span : undefined;
  /** The last chunk that came from the store: a reader with a small limit asks for the same one many times. */
  let loaded: Chunk | undefined;
  const chunkFrom = (position: Offset): Chunk | undefined => {
    if (inCache(position)) return served(cache.following(position));
    if (loaded === undefined || position < loaded.firstOffset || position > loaded.lastOffset)
      loaded = store.chunkFrom(position);
    return served(loaded);
  };
  const spanFrom = (position: Offset): ChunkSpan | undefined =>
    served(inCache(position) ? cache.following(position) : store.spanFrom(position));

  /**
   * Takes note of what is now too old or was trimmed. Messages that were once too old stay gone, though the clock may
   * step back; those that come after them do not depend on what the clock once said.
   */
  const refresh = (): LogBounds => {
    const trimmed = store.tail().trimmedThrough;
    if (trimmed !== undefined)
      goneThrough = goneThrough === undefined ? trimmed : laterOffset(goneThrough, trimmed);
    let floor = offsetOf(Math.max(0, clock.now() - retentionMs));
    if (goneThrough !== undefined) floor = laterOffset(floor, goneThrough + 1n);
    while (oldest !== undefined && oldest.lastOffset < floor) {
      goneThrough = oldest.lastOffset;
      oldest = spanFrom(goneThrough + 1n);
    }
    if (oldest === undefined) return { earliest: next(), next: next(), epoch };
    if (floor <= oldest.firstOffset) return { earliest: oldest.firstOffset, next: next(), epoch };
    goneThrough = floor - 1n;
    return { earliest: floor, next: next(), epoch };
  };

  const read = async (request: LogReadRequest): Promise<LogReadOutcome> => {
    if (closed) throw new StreamError('StorageUnavailable', 'the log is closed', {}, 1);
    const bounds = refresh();
    const from = request.from === 'oldest' ? bounds.earliest : request.from;
    if (from > bounds.next) return { kind: 'ahead', bounds };
    if (goneThrough !== undefined && from <= goneThrough && request.from !== 'oldest')
      return { kind: 'expired', bounds };
    return readChunks({ ...request, from }, bounds, chunkFrom);
  };

  return {
    append: queue.append,
    announce: queue.announce,
    read: (request) => guard(() => read(request)),
    bounds: async () => refresh(),
    chunkFrom: (position) => guard(async () => (closed ? undefined : chunkFrom(position))),
    waitFor: (position, signal) =>
      closed || position < next() ? Promise.resolve() : waiters.wait(position, signal),
    async countFrom(position) {
      const from = laterOffset(position, refresh().earliest);
      const span = await guard(async () => spanFrom(from));
      if (span === undefined) return 0;
      const skipped = from > span.firstOffset ? Number(from - span.firstOffset) : 0;
      return store.tail().nextOrdinal - span.firstOrdinal - skipped;
    },
    async trim() {
      refresh();
      if (goneThrough === undefined) return;
      cache.dropBefore(goneThrough + 1n);
      await store.trimBefore(goneThrough + 1n);
    },
    close() {
      closing ??= (async () => {
        await queue.close();
        closed = true;
        waiters.wakeAll();
        await store.close();
      })();
      return closing;
    },
  };
}

/** A store that cannot be read is a fault of ours that may pass, never one of the request. */
async function guard<Result>(action: () => Promise<Result>): Promise<Result> {
  try {
    return await action();
  } catch (cause) {
    if (cause instanceof StreamError) throw cause;
    const error = new StreamError('StorageUnavailable', 'the log cannot be read now', {}, 1);
    error.cause = cause;
    throw error;
  }
}
