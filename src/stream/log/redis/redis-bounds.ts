import type { Offset } from '../../../contract/offset.ts';
import { shareNextRun } from '../../../lib/share-next-run.ts';
import type { Clock } from '../../../lib/time.ts';
import type { RedisConnection } from '../../../redis/redis-connection.ts';
import type { ChunkSpan } from '../chunk.ts';
import { createLogStart } from '../log-start.ts';
import type { RetentionFloor } from '../retention-floor.ts';
import type { LogBounds } from '../stream-log.ts';
import type { RedisStore } from './redis-store.ts';

/** The offsets of a log in Redis that can be read, as one process knows them. */
export interface RedisBounds {
  /** One past the newest message. */
  next(): Offset;
  /** No message before this offset can be read. 0 if none is known to be gone. */
  readableFrom(): Offset;
  /** The bounds as they are known here. Undefined if Redis must be asked. */
  known(): LogBounds | undefined;
  /** The bounds now. It asks Redis if they are not known. */
  current(): Promise<LogBounds>;
  /** Asks Redis. Calls that come during a question share the next one. */
  look(): Promise<void>;
  /** To be called when new messages are stored. */
  noteMoved(): void;
  /** To be called when Redis has another log than before. */
  noteRecreated(): void;
}

const ATTEMPTS_MAX = 5;

/**
 * The first result of `attempt`, which is undefined if Redis turns out to have another log.
 * @throws Error if that happens again and again
 */
export async function untilSteady<Result>(attempt: () => Promise<Result | undefined>): Promise<Result> {
  for (let count = 0; count < ATTEMPTS_MAX; count++) {
    const result = await attempt();
    if (result !== undefined) return result;
  }
  throw new Error('the log in Redis changes too fast to be read');
}

export function createRedisBounds({
  store,
  retention,
  redis,
  clock,
}: {
  store: Pick<RedisStore, 'known' | 'look'>;
  retention: RetentionFloor;
  redis: Pick<RedisConnection, 'isReady'>;
  clock: Clock;
}): RedisBounds {
  const start = createLogStart(retention);
  /** The oldest chunk that can be read: `none` if there is none, undefined if it is not known. */
  let oldest: ChunkSpan | 'none' | undefined;

  const next = (): Offset => (store.known.lastOffset === undefined ? 0n : store.known.lastOffset + 1n);

  const look = shareNextRun(async () => {
    const { before, at, lastOffset } = await store.look(start.floorNow(), clock.now());
    start.noteGone(before?.lastOffset);
    start.noteGone(store.known.trimmedThrough);
    // News may arrive before the answer.
    oldest = at ?? (lastOffset === store.known.lastOffset ? 'none' : undefined);
  });

  const known = (): LogBounds | undefined => {
    const { epoch } = store.known;
    if (!redis.isReady || oldest === undefined) return undefined;
    if (oldest === 'none') return { earliest: next(), next: next(), epoch };
    start.noteGone(store.known.trimmedThrough);
    const floor = start.floorNow();
    if (oldest.lastOffset < floor) return undefined;
    return start.boundsFrom(floor, oldest, next(), epoch);
  };

  return {
    next,
    readableFrom: () => start.offset,
    known,
    current: () =>
      untilSteady(async () => {
        await look();
        return known();
      }),
    look,
    noteMoved() {
      if (oldest === 'none') oldest = undefined;
    },
    noteRecreated() {
      start.reset();
      oldest = undefined;
    },
  };
}
