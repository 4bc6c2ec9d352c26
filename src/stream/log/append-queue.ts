import type { EncodedBatch } from '../../contract/encode-messages.ts';
import { type Offset, offsetMs } from '../../contract/offset.ts';
import { unavailable } from '../../contract/stream-errors.ts';
import { errorMessage, TransientError } from '../../lib/errors.ts';
import type { Logger } from '../../lib/logger.ts';
import { type Clock, MINUTE_MS, type UtcMs } from '../../lib/time.ts';
import { MEBIBYTE } from '../../lib/units.ts';
import { MESSAGES_PER_CHUNK_MAX } from './chunk.ts';
import type { Appended } from './stream-log.ts';

/** The log writes a warning if its offsets are ahead of the clock by more than this. */
export const SEQUENCER_LEAD_MS = 5_000;
/** Appends that wait for the storage share the next chunk, up to these sizes. */
const CHUNK_MESSAGES_MAX = 20_000;
const CHUNK_BYTES_MAX = 8 * MEBIBYTE;
/** At most this many bytes wait. Further appends are refused, because the storage is too slow. */
const WAITING_BYTES_MAX = 128 * MEBIBYTE;
/** If a log cannot store or read now, its callers are asked to try again after this time. */
export const LOG_RETRY_SECONDS = 1;
const WARN_EVERY_MS = MINUTE_MS;

interface Entry extends PromiseWithResolvers<Appended | 'outdated'> {
  batch: EncodedBatch;
  bytes: number;
  /** Set for an announcement, which is stored as a chunk of its own. */
  readTo: Offset | undefined;
}

interface AppendQueueOptions {
  /**
   * Gives messages their offsets and stores them as one chunk. Calls never overlap.
   * @param readTo set for an announcement: nothing is stored if the log has an announcement at or after it
   * @returns the first of the consecutive offsets, when the messages are durable
   */
  store(
    batches: readonly EncodedBatch[],
    nowMs: UtcMs,
    readTo: Offset | undefined,
  ): Promise<Offset | 'outdated'>;
  clock: Clock;
  logger: Logger;
}

/**
 * Stores appends in the order in which they arrive, one chunk at a time. Appends that arrive during a write
 * share the next chunk and its sync.
 */
export function createAppendQueue(options: AppendQueueOptions) {
  const { store, clock, logger } = options;
  const waiting: Entry[] = [];
  let waitingBytes = 0;
  let running: Promise<void> | undefined;
  let isClosed = false;
  let warnedAtMs: UtcMs | undefined;

  const takeGroup = () => {
    let messages = 0;
    let bytes = 0;
    let size = 0;
    for (const entry of waiting) {
      messages += entry.batch.count;
      bytes += entry.bytes;
      if (
        size > 0 &&
        (messages > CHUNK_MESSAGES_MAX || bytes > CHUNK_BYTES_MAX || entry.readTo !== undefined)
      )
        break;
      size++;
      if (entry.readTo !== undefined) break;
    }
    const group = waiting.splice(0, size);
    for (const entry of group) waitingBytes -= entry.bytes;
    return group;
  };

  const storeGroup = async () => {
    const group = takeGroup();
    const nowMs = clock.now();
    let first: Offset | 'outdated';
    try {
      first = await store(
        group.map((entry) => entry.batch),
        nowMs,
        group[0]?.readTo,
      );
    } catch (cause) {
      logger.error({ messages: countOf(group), error: errorMessage(cause) }, 'stream.append-failed');
      const reason = cause instanceof TransientError && cause.code === 'DiskFull' ? `: ${cause.message}` : '';
      for (const entry of group)
        entry.reject(
          unavailable(
            `the messages could not be stored safely${reason}; send them again`,
            LOG_RETRY_SECONDS,
            cause,
          ),
        );
      return;
    }
    if (first === 'outdated') {
      for (const entry of group) entry.resolve(first);
      return;
    }
    warnOfLead(first, nowMs);
    for (const { batch, resolve } of group) {
      const count = BigInt(batch.count);
      resolve({ firstOffset: first, lastOffset: first + count - 1n, count: batch.count });
      first += count;
    }
  };

  const warnOfLead = (first: Offset, nowMs: UtcMs) => {
    const leadMs = offsetMs(first) - nowMs;
    if (leadMs <= SEQUENCER_LEAD_MS) return;
    if (warnedAtMs !== undefined && Math.abs(nowMs - warnedAtMs) < WARN_EVERY_MS) return;
    warnedAtMs = nowMs;
    logger.warn({ leadMs }, 'stream.sequencer-ahead-of-clock');
  };

  const run = async () => {
    while (waiting.length > 0) await storeGroup();
    running = undefined;
  };

  const push = (batch: EncodedBatch, readTo: Offset | undefined): Promise<Appended | 'outdated'> => {
    if (isClosed) return Promise.reject(unavailable('the log is closed', LOG_RETRY_SECONDS));
    if (batch.count < 1 || batch.count > MESSAGES_PER_CHUNK_MAX)
      return Promise.reject(new RangeError(`an append takes 1 to ${MESSAGES_PER_CHUNK_MAX} messages`));
    const bytes = batch.starts[batch.count]! - batch.starts[0]!;
    if (waitingBytes > 0 && waitingBytes + bytes > WAITING_BYTES_MAX)
      return Promise.reject(
        unavailable('the storage is slower than the messages arrive; send them again', LOG_RETRY_SECONDS),
      );
    const entry = { batch, bytes, readTo, ...Promise.withResolvers<Appended | 'outdated'>() };
    waiting.push(entry);
    waitingBytes += bytes;
    running ??= run();
    return entry.promise;
  };

  return {
    append: (batch: EncodedBatch) => push(batch, undefined) as Promise<Appended>,
    announce: (batch: EncodedBatch, readTo: Offset) => push(batch, readTo),
    /** Stores the accepted messages. Later appends are refused. */
    async close(): Promise<void> {
      isClosed = true;
      await running;
    },
  };
}

function countOf(group: readonly Entry[]): number {
  return group.reduce((sum, { batch }) => sum + batch.count, 0);
}
