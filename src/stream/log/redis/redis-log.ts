import { laterOffset, offsetMs } from '../../../contract/offset.ts';
import { unavailable } from '../../../contract/stream-errors.ts';
import { limits } from '../../../contract/wire-limits.ts';
import { SECOND_MS } from '../../../lib/time.ts';
import { type StartTimer, startSystemTimer } from '../../../lib/timer.ts';
import type { RedisConnection } from '../../../redis/redis-connection.ts';
import { createAppendQueue } from '../append-queue.ts';
import { readChunks } from '../read-chunks.ts';
import { createRetentionClock } from '../retention-clock.ts';
import type { LogOptions } from '../sequenced-log.ts';
import type { LogBounds, LogReadOutcome, LogReadRequest, StreamLog } from '../stream-log.ts';
import { createWaiters } from '../waiters.ts';
import { createRedisBounds, untilSteady } from './redis-bounds.ts';
import { createRedisChunks } from './redis-chunks.ts';
import { openRedisStore } from './redis-store.ts';

export interface RedisLogOptions extends LogOptions {
  redis: RedisConnection;
  workgroupId: string;
  startTimer?: StartTimer;
}

/** Waiting readers check Redis this often, because news can be lost. */
const LOOK_EVERY_MS = SECOND_MS;
/** A filtered read needs more messages than it returns. */
const MESSAGES_WANTED_FILTERED = 20_000;

/**
 * Opens the log of a workgroup in Redis, and creates it if needed. Any number of processes append and read.
 * One script in Redis assigns the offsets and stores the messages, so all processes see one order.
 *
 * Offsets use the clock of the process that appends. Timestamps use it too. If a clock is behind or steps
 * back, the last offset in Redis counts instead. Each process has its own `RetentionClock`.
 *
 * Messages before the end come from memory. A read that reaches the end asks Redis for more. So every process
 * can read a message as soon as one process has acknowledged it.
 * @throws TransientError if Redis cannot be reached, TerminalError if a later version has written the log
 */
export async function openRedisLog(options: RedisLogOptions): Promise<StreamLog> {
  const { redis, clock, logger, startTimer = startSystemTimer } = options;
  const waiters = createWaiters();
  let closing: Promise<void> | undefined;
  let closed = false;

  const store = await openRedisStore(options);
  const { lastOffset } = store.known;
  const newestMs = lastOffset === undefined ? undefined : offsetMs(lastOffset);
  const retention = createRetentionClock({ ...options, newestMs });
  const bounds = createRedisBounds({ store, retention, redis, clock });
  const chunks = createRedisChunks({ ...options, store });

  /** Returns undefined if the log was recreated or trimmed before anything was read. */
  const readWithin = async (
    request: LogReadRequest,
    within: LogBounds,
  ): Promise<LogReadOutcome | undefined> => {
    const from = request.from === 'oldest' ? within.earliest : request.from;
    if (from > within.next) return { kind: 'ahead', bounds: within };
    const goneThrough = bounds.goneThrough();
    if (goneThrough !== undefined && from <= goneThrough && request.from !== 'oldest')
      return { kind: 'expired', bounds: within };
    const messagesWanted = isFiltered(request) ? MESSAGES_WANTED_FILTERED : request.limit;
    let atEnd = false;
    let broken = false;
    const outcome = await readChunks({ ...request, from }, within, async (position) => {
      if (position >= within.next) return undefined;
      const chunk = await chunks.from(position, messagesWanted);
      const { epoch, trimmedThrough } = store.known;
      broken =
        chunk === 'changed' ||
        epoch !== within.epoch ||
        (trimmedThrough !== undefined && trimmedThrough >= position);
      if (broken || chunk === 'changed') return undefined;
      if (chunk !== undefined && chunk.firstOffset < within.next) return chunk;
      atEnd = true;
      return undefined;
    });
    if (broken) return outcome.count > 0 ? { ...outcome, upToDate: false } : undefined;
    // The first offset of a new epoch may lie beyond the last message plus one.
    return atEnd ? { ...outcome, nextOffset: within.next, upToDate: true } : outcome;
  };

  const read = async (request: LogReadRequest): Promise<LogReadOutcome> => {
    const known = bounds.known();
    const outcome = known && (await readWithin(request, known));
    if (outcome?.kind === 'batch' && !outcome.upToDate) return outcome;
    return untilSteady(async () => readWithin(request, await bounds.current()));
  };

  const queue = createAppendQueue({
    clock,
    logger,
    async store(batches, nowMs, readTo) {
      retention.floorMs();
      const chunk = await store.append(batches, nowMs, readTo);
      if (chunk === 'outdated') return chunk;
      chunks.add(chunk);
      return chunk.firstOffset;
    },
  });

  await store.listen({
    onMoved() {
      bounds.noteMoved();
      waiters.wake(store.known.lastOffset!);
    },
    onRecreated() {
      chunks.clear();
      bounds.noteRecreated();
      waiters.wakeAll();
    },
    onDoubt: () => void bounds.look().catch(() => undefined),
  });

  let stopLooking = () => {};
  const lookNowAndThen = () => {
    stopLooking = startTimer(LOOK_EVERY_MS, () => {
      const looked = waiters.size > 0 ? bounds.look().catch(() => undefined) : Promise.resolve();
      void looked.then(() => closed || lookNowAndThen());
    });
  };
  lookNowAndThen();

  const whileOpen = async <Result>(action: () => Promise<Result>): Promise<Result> => {
    if (closed) throw unavailable('the log is closed', 1);
    try {
      return await action();
    } catch (cause) {
      throw unavailable('the log cannot be read now', 1, cause);
    }
  };

  return {
    append: queue.append,
    announce: queue.announce,
    read: (request) => whileOpen(() => read(request)),
    bounds: () => whileOpen(bounds.current),
    chunkFrom: (position) =>
      whileOpen(async () => {
        const { next: end } = await bounds.current();
        const chunk = position < end ? await chunks.from(position, limits.messagesPerReadMax) : undefined;
        if (chunk === 'changed') throw new Error('the log in Redis became another one');
        return chunk;
      }),
    waitFor: (position, signal) =>
      closed || position < bounds.next() ? Promise.resolve() : waiters.wait(position, signal),
    countFrom: (position) =>
      whileOpen(async () => {
        const { earliest, next: end } = bounds.known() ?? (await bounds.current());
        const from = laterOffset(position, earliest);
        if (from >= end) return 0;
        const span = chunks.kept(from) ?? (await store.look(from, clock.now())).at;
        if (span === undefined) return 0;
        const skipped = from > span.firstOffset ? Number(from - span.firstOffset) : 0;
        return store.known.nextOrdinal - span.firstOrdinal - skipped;
      }),
    async trim() {
      await bounds.current();
      const goneThrough = bounds.goneThrough();
      if (goneThrough === undefined) return;
      chunks.dropBefore(goneThrough + 1n);
      await store.trimBefore(goneThrough + 1n);
    },
    close() {
      closing ??= (async () => {
        await queue.close();
        closed = true;
        stopLooking();
        waiters.wakeAll();
        await store.close();
      })();
      return closing;
    },
  };
}

function isFiltered({ filter = {} }: LogReadRequest): boolean {
  return Object.values(filter).some((one) => one !== undefined);
}
