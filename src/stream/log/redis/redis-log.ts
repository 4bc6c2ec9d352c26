import { laterOffset, type Offset, offsetMs, offsetOf } from '../../../contract/offset.ts';
import { unavailable } from '../../../contract/stream-errors.ts';
import { limits } from '../../../contract/wire-limits.ts';
import { oneAtATime } from '../../../lib/one-at-a-time.ts';
import { SECOND_MS } from '../../../lib/time.ts';
import { type StartTimer, startSystemTimer } from '../../../lib/timer.ts';
import type { RedisConnection } from '../../../redis/redis-connection.ts';
import { createAppendQueue } from '../append-queue.ts';
import type { ChunkSpan } from '../chunk.ts';
import { readChunks } from '../read-chunks.ts';
import { createRetentionClock } from '../retention-clock.ts';
import type { LogOptions } from '../sequenced-log.ts';
import type { LogBounds, LogReadOutcome, LogReadRequest, StreamLog } from '../stream-log.ts';
import { createWaiters } from '../waiters.ts';
import { createRedisChunks } from './redis-chunks.ts';
import { openRedisStore } from './redis-store.ts';

export interface RedisLogOptions extends LogOptions {
  redis: RedisConnection;
  workgroupId: string;
  startTimer?: StartTimer;
}

/** Waiting readers check Redis this often, because news can be lost. */
const LOOK_EVERY_MS = SECOND_MS;
/** A read starts again this often if Redis turns out to have another log. */
const ATTEMPTS_MAX = 5;
/** A filtered read needs more messages than it returns. */
const MESSAGES_WANTED_FILTERED = 20_000;

/**
 * Opens the log of a workgroup in Redis, and creates it if needed. Any number of processes append and read. One script
 * in Redis assigns the offsets and stores the messages, so all processes see one order.
 *
 * Offsets use the clock of the process that appends. Timestamps use it too. If a clock is behind or steps back, the last
 * offset in Redis counts instead. Each process has its own `RetentionClock`.
 *
 * Messages before the end come from memory. A read that reaches the end asks Redis for more. So every process can read
 * a message as soon as one process has acknowledged it.
 * @throws TransientError if Redis cannot be reached, TerminalError if a later version has written the log
 */
export async function openRedisLog(options: RedisLogOptions): Promise<StreamLog> {
  const { redis, clock, logger, startTimer = startSystemTimer } = options;
  const waiters = createWaiters();
  /**
   * The newest message that cannot be read any more. `oldest` is the oldest chunk that can: `none` if there is none,
   * undefined if it is not known.
   */
  let goneThrough: Offset | undefined;
  let oldest: ChunkSpan | 'none' | undefined;
  let closing: Promise<void> | undefined;
  let closed = false;

  const store = await openRedisStore(options);
  const { lastOffset } = store.known;
  const newestMs = lastOffset === undefined ? undefined : offsetMs(lastOffset);
  const retention = createRetentionClock({ ...options, newestMs });
  const chunks = createRedisChunks({ ...options, store });

  const next = (): Offset => (store.known.lastOffset === undefined ? 0n : store.known.lastOffset + 1n);

  const floorNow = (): Offset => {
    const floor = offsetOf(Math.max(0, retention.floorMs()));
    return goneThrough === undefined ? floor : laterOffset(floor, goneThrough + 1n);
  };
  const gone = (through: Offset | undefined) => {
    if (through !== undefined)
      goneThrough = goneThrough === undefined ? through : laterOffset(goneThrough, through);
  };

  const look = oneAtATime(async () => {
    const { before, at, lastOffset } = await store.look(floorNow(), clock.now());
    gone(before?.lastOffset);
    gone(store.known.trimmedThrough);
    // News may arrive before the answer.
    oldest = at ?? (lastOffset === store.known.lastOffset ? 'none' : undefined);
  });

  /** The bounds of the log as this process knows them; undefined if it must ask Redis. */
  const knownBounds = (): LogBounds | undefined => {
    const { epoch } = store.known;
    if (!redis.isReady || oldest === undefined) return undefined;
    if (oldest === 'none') return { earliest: next(), next: next(), epoch };
    gone(store.known.trimmedThrough);
    const floor = floorNow();
    if (oldest.lastOffset < floor) return undefined;
    if (floor <= oldest.firstOffset) return { earliest: oldest.firstOffset, next: next(), epoch };
    goneThrough = floor - 1n;
    return { earliest: floor, next: next(), epoch };
  };
  const currentBounds = async (): Promise<LogBounds> => {
    for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
      await look();
      const bounds = knownBounds();
      if (bounds !== undefined) return bounds;
    }
    throw new Error('the log in Redis changes too fast to be read');
  };

  /** Returns undefined if the log was recreated or trimmed before anything was read. */
  const readWithin = async (
    request: LogReadRequest,
    bounds: LogBounds,
  ): Promise<LogReadOutcome | undefined> => {
    const from = request.from === 'oldest' ? bounds.earliest : request.from;
    if (from > bounds.next) return { kind: 'ahead', bounds };
    if (goneThrough !== undefined && from <= goneThrough && request.from !== 'oldest')
      return { kind: 'expired', bounds };
    const messagesWanted = isFiltered(request) ? MESSAGES_WANTED_FILTERED : request.limit;
    let atEnd = false;
    let broken = false;
    const outcome = await readChunks({ ...request, from }, bounds, async (position) => {
      if (position >= bounds.next) return undefined;
      const chunk = await chunks.from(position, messagesWanted);
      const { epoch, trimmedThrough } = store.known;
      broken =
        chunk === 'changed' ||
        epoch !== bounds.epoch ||
        (trimmedThrough !== undefined && trimmedThrough >= position);
      if (broken || chunk === 'changed') return undefined;
      if (chunk !== undefined && chunk.firstOffset < bounds.next) return chunk;
      atEnd = true;
      return undefined;
    });
    if (broken) return outcome.count > 0 ? { ...outcome, upToDate: false } : undefined;
    // The first offset of a new epoch may lie beyond the last message plus one.
    return atEnd ? { ...outcome, nextOffset: bounds.next, upToDate: true } : outcome;
  };

  const read = async (request: LogReadRequest): Promise<LogReadOutcome> => {
    const bounds = knownBounds();
    const known = bounds && (await readWithin(request, bounds));
    if (known?.kind === 'batch' && !known.upToDate) return known;
    for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
      const outcome = await readWithin(request, await currentBounds());
      if (outcome !== undefined) return outcome;
    }
    throw new Error('the log in Redis changes too fast to be read');
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
      if (oldest === 'none') oldest = undefined;
      waiters.wake(store.known.lastOffset!);
    },
    onRecreated() {
      chunks.clear();
      goneThrough = undefined;
      oldest = undefined;
      waiters.wakeAll();
    },
    onDoubt: () => void look().catch(() => undefined),
  });

  let stopLooking = () => {};
  const lookNowAndThen = () => {
    stopLooking = startTimer(LOOK_EVERY_MS, () => {
      const looked = waiters.size > 0 ? look().catch(() => undefined) : Promise.resolve();
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
    bounds: () => whileOpen(currentBounds),
    chunkFrom: (position) =>
      whileOpen(async () => {
        const { next: end } = await currentBounds();
        const chunk = position < end ? await chunks.from(position, limits.messagesPerReadMax) : undefined;
        if (chunk === 'changed') throw new Error('the log in Redis became another one');
        return chunk;
      }),
    waitFor: (position, signal) =>
      closed || position < next() ? Promise.resolve() : waiters.wait(position, signal),
    countFrom: (position) =>
      whileOpen(async () => {
        const { earliest, next: end } = knownBounds() ?? (await currentBounds());
        const from = laterOffset(position, earliest);
        if (from >= end) return 0;
        const span = chunks.kept(from) ?? (await store.look(from, clock.now())).at;
        if (span === undefined) return 0;
        const skipped = from > span.firstOffset ? Number(from - span.firstOffset) : 0;
        return store.known.nextOrdinal - span.firstOrdinal - skipped;
      }),
    async trim() {
      await currentBounds();
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
