import { laterOffset, nextOffset, type Offset, offsetMs } from '../../contract/offset.ts';
import { StreamError, unavailable } from '../../contract/stream-errors.ts';
import type { Logger } from '../../lib/logger.ts';
import type { Clock } from '../../lib/time.ts';
import { createAppendQueue, LOG_RETRY_SECONDS } from './append-queue.ts';
import { type Chunk, joinChunk, ordinalFrom } from './chunk.ts';
import type { ChunkStore } from './chunk-store.ts';
import { createLogStart } from './log-start.ts';
import { readChunks } from './read-chunks.ts';
import { createRetentionFloor, type RetentionFrom } from './retention-floor.ts';
import { createStoredChunks } from './stored-chunks.ts';
import type { LogBounds, LogReadOutcome, LogReadRequest, StreamLog } from './stream-log.ts';
import { createWaiters } from './waiters.ts';

export interface LogOptions {
  clock: Clock;
  retentionMs: number;
  /** Keeps the floor of a log that is closed and opened again. Default: each opening makes one. */
  retentionFrom?: RetentionFrom | undefined;
  /** Memory for the newest messages. */
  cacheBytesMax: number;
  logger: Logger;
}

/** Creates a log on top of a store of chunks. This process assigns the offsets. */
export function createSequencedLog(store: ChunkStore, options: LogOptions): StreamLog {
  const { clock } = options;
  const waiters = createWaiters();
  const { epoch } = store;
  let closing: Promise<void> | undefined;
  let isClosed = false;

  const tail = store.tail();
  let lastOffset = tail.lastOffset;
  const newestMs = lastOffset === undefined ? undefined : offsetMs(lastOffset);
  const retention = options.retentionFrom?.(newestMs) ?? createRetentionFloor({ ...options, newestMs });
  const start = createLogStart(retention);
  start.noteGone(tail.trimmedThrough);
  /** The oldest chunk that can be read. */
  let oldest = store.spanFrom(start.offset);

  const next = (): Offset => (lastOffset === undefined ? 0n : lastOffset + 1n);
  const chunks = createStoredChunks(store, options.cacheBytesMax, next);

  /** An offset is used once. If a chunk could not be stored, its offsets stay unused. */
  let lastGiven = lastOffset;
  /**
   * The newest announcement of this process. Only this process can append, so other announcements are older.
   */
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
        chunks.add(chunk);
        oldest ??= chunk;
        becameStored(chunk.lastOffset);
      } catch (error) {
        lookForStored();
        throw error;
      } finally {
        // An announcement that was not stored does not count. Its author then tries again, and is not
        // outdated.
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
  /** A store can fail after the chunk is durable. Then the chunk counts as stored. */
  const lookForStored = () => {
    const stored = store.tail().lastOffset;
    if (stored === lastOffset || stored === undefined) return;
    chunks.clear();
    oldest ??= store.spanFrom(next());
    becameStored(stored);
  };

  /** Moves the start past messages that are too old or trimmed now. */
  const refresh = (): LogBounds => {
    start.noteGone(store.tail().trimmedThrough);
    const floor = start.floorNow();
    while (oldest !== undefined && oldest.lastOffset < floor) {
      start.noteGone(oldest.lastOffset);
      oldest = chunks.spanFrom(start.offset);
    }
    if (oldest === undefined) return { earliest: next(), next: next(), epoch };
    return start.boundsFrom(floor, oldest, next(), epoch);
  };

  const read = async (request: LogReadRequest): Promise<LogReadOutcome> => {
    if (isClosed) throw unavailable('the log is closed', LOG_RETRY_SECONDS);
    const bounds = refresh();
    return readChunks(request, bounds, start.offset, chunks.from);
  };

  return {
    append: queue.append,
    announce: queue.announce,
    read: (request) => guard(() => read(request)),
    bounds: async () => refresh(),
    chunkFrom: (position) => guard(async () => (isClosed ? undefined : chunks.from(position))),
    waitFor: (position, signal) =>
      isClosed || position < next() ? Promise.resolve() : waiters.wait(position, signal),
    async countFrom(position) {
      const from = laterOffset(position, refresh().earliest);
      const span = await guard(async () => chunks.spanFrom(from));
      return span === undefined ? 0 : store.tail().nextOrdinal - ordinalFrom(span, from);
    },
    async trim() {
      refresh();
      if (start.offset === 0n) return;
      chunks.dropBefore(start.offset);
      await store.trimBefore(start.offset);
    },
    get fileBytesRead() {
      return store.fileBytesRead ?? 0;
    },
    close() {
      closing ??= (async () => {
        await queue.close();
        isClosed = true;
        waiters.wakeAll();
        await store.close();
      })();
      return closing;
    },
  };
}

/**
 * Turns a failure of the store into StorageUnavailable: the failure may pass, and the caller has not caused
 * it.
 */
async function guard<Result>(action: () => Promise<Result>): Promise<Result> {
  try {
    return await action();
  } catch (cause) {
    if (cause instanceof StreamError) throw cause;
    throw unavailable('the log cannot be read now', LOG_RETRY_SECONDS, cause);
  }
}
