import { laterOffset, nextOffset, type Offset, offsetMs, offsetOf } from '../../contract/offset.ts';
import { StreamError, unavailable } from '../../contract/stream-errors.ts';
import type { Logger } from '../../lib/logger.ts';
import type { Clock } from '../../lib/time.ts';
import { createAppendQueue, LOG_RETRY_SECONDS } from './append-queue.ts';
import { type Chunk, type ChunkSpan, joinChunk, ordinalFrom } from './chunk.ts';
import { createChunkCache } from './chunk-cache.ts';
import type { ChunkStore } from './chunk-store.ts';
import { readChunks } from './read-chunks.ts';
import { createRetentionClock } from './retention-clock.ts';
import type { LogBounds, LogReadOutcome, LogReadRequest, StreamLog } from './stream-log.ts';
import { createWaiters } from './waiters.ts';

export interface LogOptions {
  clock: Clock;
  retentionMs: number;
  /** Memory for the newest messages. */
  cacheBytesMax: number;
  logger: Logger;
}

/** Creates a log whose offsets this process assigns, on top of a store of chunks. */
export function createSequencedLog(store: ChunkStore, options: LogOptions): StreamLog {
  const { clock } = options;
  const cache = createChunkCache(options.cacheBytesMax);
  const waiters = createWaiters();
  const { epoch } = store;
  let closing: Promise<void> | undefined;
  let closed = false;

  const tail = store.tail();
  let lastOffset = tail.lastOffset;
  const newestMs = lastOffset === undefined ? undefined : offsetMs(lastOffset);
  const retention = createRetentionClock({ ...options, newestMs });
  /** The newest message that cannot be read any more, and the oldest chunk that can. */
  let goneThrough = tail.trimmedThrough;
  let oldest = store.spanFrom(goneThrough === undefined ? 0n : goneThrough + 1n);

  const next = (): Offset => (lastOffset === undefined ? 0n : lastOffset + 1n);

  /** An offset is used once. If a chunk could not be stored, its offsets stay unused. */
  let lastGiven = lastOffset;
  /** The newest announcement of this process. No other process can append while it runs. */
  let announcedTo: Offset | undefined;
  const queue = createAppendQueue({
    clock,
    logger: options.logger,
    async store(batches, nowMs, readTo) {
      if (readTo !== undefined && announcedTo !== undefined && announcedTo >= readTo) return 'outdated';
      retention.floorMs();
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
        // A chunk that was not stored does not count: its author tries again and has missed no newer
        // announcement.
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
  /** A store may fail after the chunk became durable. Then the chunk counts as stored. */
  const lookForStored = () => {
    const stored = store.tail().lastOffset;
    if (stored === lastOffset || stored === undefined) return;
    cache.clear();
    oldest ??= store.spanFrom(next());
    becameStored(stored);
  };

  const inCache = (position: Offset) => cache.startsAt !== undefined && position >= cache.startsAt;
  /** The store may already show a chunk whose sync is not complete. Readers must not see it. */
  const served = <Span extends ChunkSpan>(span: Span | undefined) =>
    span !== undefined && span.firstOffset < next() ? span : undefined;
  /**
   * The last chunk that came from the store, because a reader with a small limit asks for the same one many
   * times.
   */
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
   * Updates which messages are too old or trimmed, and returns the bounds. A message that was too old once
   * stays hidden, even if the clock steps back. Newer messages do not depend on earlier readings of the
   * clock.
   */
  const refresh = (): LogBounds => {
    const trimmed = store.tail().trimmedThrough;
    if (trimmed !== undefined)
      goneThrough = goneThrough === undefined ? trimmed : laterOffset(goneThrough, trimmed);
    let floor = offsetOf(Math.max(0, retention.floorMs()));
    if (goneThrough !== undefined) floor = laterOffset(floor, goneThrough + 1n);
    while (oldest !== undefined && oldest.lastOffset < floor) {
      goneThrough =
        goneThrough === undefined ? oldest.lastOffset : laterOffset(goneThrough, oldest.lastOffset);
      oldest = spanFrom(goneThrough + 1n);
    }
    if (oldest === undefined) return { earliest: next(), next: next(), epoch };
    if (floor <= oldest.firstOffset) return { earliest: oldest.firstOffset, next: next(), epoch };
    goneThrough = floor - 1n;
    return { earliest: floor, next: next(), epoch };
  };

  const read = async (request: LogReadRequest): Promise<LogReadOutcome> => {
    if (closed) throw unavailable('the log is closed', LOG_RETRY_SECONDS);
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
      return span === undefined ? 0 : store.tail().nextOrdinal - ordinalFrom(span, from);
    },
    async trim() {
      refresh();
      if (goneThrough === undefined) return;
      cache.dropBefore(goneThrough + 1n);
      await store.trimBefore(goneThrough + 1n);
    },
    get fileBytesRead() {
      return store.fileBytesRead ?? 0;
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

/**
 * Turns a failure of the store into StorageUnavailable, because it may pass and is not the caller's fault.
 */
async function guard<Result>(action: () => Promise<Result>): Promise<Result> {
  try {
    return await action();
  } catch (cause) {
    if (cause instanceof StreamError) throw cause;
    throw unavailable('the log cannot be read now', LOG_RETRY_SECONDS, cause);
  }
}
