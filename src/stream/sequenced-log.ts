import { StreamError } from '../contract/errors.ts';
import { type Offset, offsetOf } from '../contract/offset.ts';
import type { Log } from '../log.ts';
import type { Clock } from '../time.ts';
import { createAppendQueue } from './append-queue.ts';
import { type Chunk, type ChunkSpan, indexFrom } from './chunk.ts';
import { type Selection, selectFrom } from './chunk-read.ts';
import type { ChunkStore } from './chunk-store.ts';
import { createChunkWindow } from './chunk-window.ts';
import type { LogBounds, ReadOutcome, ReadRequest, StreamLog } from './log.ts';
import { createWaiters } from './waiters.ts';

/** Messages one `read` looks at before it comes back, so that a selective reader never holds up the event loop. */
const MESSAGES_SCANNED_MAX = 200_000;
const BYTES_SCANNED_MAX = 16 * 1024 * 1024;

export interface LogOptions {
  clock: Clock;
  retentionMs: number;
  /** Memory for the newest messages. */
  cacheBytesMax: number;
  log: Log;
}

/** A log with one sequencer, in this process, in front of a store of chunks. */
export function createSequencedLog(store: ChunkStore, options: LogOptions): StreamLog {
  const { clock, retentionMs } = options;
  const window = createChunkWindow(options.cacheBytesMax);
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

  const queue = createAppendQueue({
    store,
    clock,
    log: options.log,
    onStored(chunk) {
      lastOffset = chunk.lastOffset;
      window.push(chunk);
      oldest ??= chunk;
      waiters.wake(chunk.lastOffset);
    },
    // The store is asked what it has: where the fault hit late, the chunk is there all the same.
    onFailed() {
      const stored = store.tail().lastOffset;
      if (stored === lastOffset || stored === undefined) return;
      window.clear();
      oldest ??= store.spanFrom(next());
      lastOffset = stored;
      waiters.wake(stored);
    },
  });

  const inWindow = (position: Offset) => window.startsAt !== undefined && position >= window.startsAt;
  /** The store may already show a chunk whose sync is under way; readers must not. */
  const served = <Span extends ChunkSpan>(span: Span | undefined) =>
    span !== undefined && span.firstOffset < next() ? span : undefined;
  /** The last chunk that came from the store: a reader with a small limit asks for the same one many times. */
  let loaded: Chunk | undefined;
  const chunkFrom = (position: Offset): Chunk | undefined => {
    if (inWindow(position)) return served(window.chunkFrom(position));
    if (loaded === undefined || position < loaded.firstOffset || position > loaded.lastOffset)
      loaded = store.chunkFrom(position);
    return served(loaded);
  };
  const spanFrom = (position: Offset): ChunkSpan | undefined =>
    served(inWindow(position) ? window.chunkFrom(position) : store.spanFrom(position));

  /**
   * Takes note of what is now too old or was trimmed. Messages that were once too old stay gone, though the clock may
   * step back; those that come after them do not depend on what the clock once said.
   */
  const refresh = (): LogBounds => {
    const trimmed = store.tail().trimmedThrough;
    if (trimmed !== undefined)
      goneThrough = goneThrough === undefined ? trimmed : later(goneThrough, trimmed);
    let floor = offsetOf(Math.max(0, clock.now() - retentionMs));
    if (goneThrough !== undefined) floor = later(floor, goneThrough + 1n);
    while (oldest !== undefined && oldest.lastOffset < floor) {
      goneThrough = oldest.lastOffset;
      oldest = spanFrom(goneThrough + 1n);
    }
    if (oldest === undefined) return { earliest: next(), next: next(), epoch };
    if (floor <= oldest.firstOffset) return { earliest: oldest.firstOffset, next: next(), epoch };
    goneThrough = floor - 1n;
    return { earliest: floor, next: next(), epoch };
  };

  const read = (request: ReadRequest): ReadOutcome => {
    if (closed) throw new StreamError('StorageUnavailable', 'the log is closed', {}, 1);
    const bounds = refresh();
    const from = request.from === 'oldest' ? bounds.earliest : request.from;
    if (from > bounds.next) return { kind: 'ahead', bounds };
    if (goneThrough !== undefined && from <= goneThrough && request.from !== 'oldest')
      return { kind: 'expired', bounds };
    const names = {
      tables: request.filter?.table === undefined ? undefined : new Set([request.filter.table]),
      devices: request.filter?.devices,
    };
    const selection: Selection = {
      parts: [],
      count: 0,
      bytes: 0,
      limit: request.limit,
      bytesMax: request.bytesMax,
      oneAtLeast: request.oneAtLeast,
      full: false,
    };
    let position = from;
    let messagesScanned = 0;
    let bytesScanned = 0;
    while (!selection.full && messagesScanned < MESSAGES_SCANNED_MAX && bytesScanned < BYTES_SCANNED_MAX) {
      const start = later(position, bounds.earliest);
      const chunk = chunkFrom(start);
      if (chunk === undefined) break;
      const index = indexFrom(chunk, start);
      const end = selectFrom(chunk, index, names, selection);
      if (end > index) position = chunk.firstOffset + BigInt(end);
      messagesScanned += end - index;
      bytesScanned += chunk.bytes.length;
    }
    const { parts, count, bytes, full } = selection;
    const upToDate = position >= bounds.next;
    return { kind: 'batch', parts, count, bytes, nextOffset: position, upToDate, full, bounds };
  };

  return {
    append: queue.append,
    read: async (request) => guard(() => read(request)),
    bounds: async () => refresh(),
    waitFor: (position, signal) =>
      closed || position < next() ? Promise.resolve() : waiters.wait(position, signal),
    async countFrom(position) {
      const from = later(position, refresh().earliest);
      const span = guard(() => spanFrom(from));
      if (span === undefined) return 0;
      const skipped = from > span.firstOffset ? Number(from - span.firstOffset) : 0;
      return store.tail().nextOrdinal - span.firstOrdinal - skipped;
    },
    async trim() {
      refresh();
      if (goneThrough === undefined) return;
      window.dropBefore(goneThrough + 1n);
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
function guard<Result>(action: () => Result): Result {
  try {
    return action();
  } catch (cause) {
    if (cause instanceof StreamError) throw cause;
    const error = new StreamError('StorageUnavailable', 'the log cannot be read now', {}, 1);
    error.cause = cause;
    throw error;
  }
}

function later(a: Offset, b: Offset): Offset {
  if (a > b) return a;
  return b;
}
