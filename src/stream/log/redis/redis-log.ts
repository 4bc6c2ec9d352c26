import { laterOffset, offsetMs } from '../../../contract/offset.ts';
import { unavailable } from '../../../contract/stream-errors.ts';
import { limits } from '../../../contract/wire-limits.ts';
import { SECOND_MS } from '../../../lib/time.ts';
import { type StartTimer, startSystemTimer } from '../../../lib/timer.ts';
import type { RedisConnection } from '../../../redis/redis-connection.ts';
import { createAppendQueue, LOG_RETRY_SECONDS } from '../append-queue.ts';
import { ordinalFrom } from '../chunk.ts';
import { createRetentionFloor } from '../retention-floor.ts';
import type { LogOptions } from '../sequenced-log.ts';
import type { StreamLog } from '../stream-log.ts';
import { createWaiters } from '../waiters.ts';
import { createRedisBounds } from './redis-bounds.ts';
import { createRedisChunks } from './redis-chunks.ts';
import { createRedisReader } from './redis-reader.ts';
import { openRedisStore } from './redis-store.ts';

interface RedisLogOptions extends LogOptions {
  redis: RedisConnection;
  workgroupId: string;
  startTimer?: StartTimer;
}

/** Waiting readers check Redis this often, because news can be lost. */
const LOOK_EVERY_MS = SECOND_MS;

/**
 * Opens the log of a workgroup in Redis, and creates it if needed. Any number of processes append and read.
 * One script in Redis assigns the offsets and stores the messages, so all processes see one order.
 *
 * Offsets and store times use the clock of the process that appends. If a clock is behind or steps back, the
 * last offset in Redis counts instead. Each process has its own `RetentionFloor`.
 *
 * Messages before the end come from memory. A read that reaches the end asks Redis for more. So every process
 * can read a message as soon as one process has acknowledged it.
 * @throws TransientError if Redis cannot be reached, TerminalError if a later version has written the log
 */
export async function openRedisLog(options: RedisLogOptions): Promise<StreamLog> {
  const { redis, clock, logger, startTimer = startSystemTimer } = options;
  const waiters = createWaiters();
  let closing: Promise<void> | undefined;
  let isClosed = false;

  const store = await openRedisStore(options);
  const { lastOffset } = store.known;
  const newestMs = lastOffset === undefined ? undefined : offsetMs(lastOffset);
  const retention = options.retentionFrom?.(newestMs) ?? createRetentionFloor({ ...options, newestMs });
  const bounds = createRedisBounds({ store, retention, redis, clock });
  const chunks = createRedisChunks({ ...options, store });
  const read = createRedisReader(store, bounds, chunks);

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
      const lookEnds = waiters.size > 0 ? bounds.look().catch(() => undefined) : Promise.resolve();
      void lookEnds.then(() => isClosed || lookNowAndThen());
    });
  };
  lookNowAndThen();

  const whileOpen = async <Result>(action: () => Promise<Result>): Promise<Result> => {
    if (isClosed) throw unavailable('the log is closed', LOG_RETRY_SECONDS);
    try {
      return await action();
    } catch (cause) {
      throw unavailable('the log cannot be read now', LOG_RETRY_SECONDS, cause);
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
        if (chunk === 'changed') throw new Error('the log in Redis was created again during the read');
        return chunk;
      }),
    waitFor: (position, signal) =>
      isClosed || position < bounds.next() ? Promise.resolve() : waiters.wait(position, signal),
    countFrom: (position) =>
      whileOpen(async () => {
        const { earliest, next: end } = bounds.known() ?? (await bounds.current());
        const from = laterOffset(position, earliest);
        if (from >= end) return 0;
        const span = chunks.kept(from) ?? (await store.look(from, clock.now())).at;
        return span === undefined ? 0 : store.known.nextOrdinal - ordinalFrom(span, from);
      }),
    async trim() {
      await bounds.current();
      const readableFrom = bounds.readableFrom();
      if (readableFrom === 0n) return;
      chunks.dropBefore(readableFrom);
      await store.trimBefore(readableFrom);
    },
    close() {
      closing ??= (async () => {
        await queue.close();
        isClosed = true;
        stopLooking();
        waiters.wakeAll();
        await store.close();
      })();
      return closing;
    },
  };
}
