import { readChunks } from '../read-chunks.ts';
import type { LogBounds, LogReadOutcome, LogReadRequest } from '../stream-log.ts';
import { type RedisBounds, untilSteady } from './redis-bounds.ts';
import type { RedisChunks } from './redis-chunks.ts';
import type { RedisStore } from './redis-store.ts';

/** A filtered read needs more messages than it returns. */
const MESSAGES_WANTED_FILTERED = 20_000;

/**
 * Makes the function that reads a log in Redis. Messages before the end come from memory. A read that reaches
 * the end asks Redis for more, and a read of a log that was recreated meanwhile begins again.
 */
export function createRedisReader(
  store: Pick<RedisStore, 'known'>,
  bounds: RedisBounds,
  chunks: RedisChunks,
): (request: LogReadRequest) => Promise<LogReadOutcome> {
  /** Returns undefined if the log was recreated or trimmed before anything was read. */
  const readWithin = async (
    request: LogReadRequest,
    within: LogBounds,
  ): Promise<LogReadOutcome | undefined> => {
    const messagesWanted = isFiltered(request) ? MESSAGES_WANTED_FILTERED : request.limit;
    let isAtEnd = false;
    let isBroken = false;
    const outcome = await readChunks(request, within, bounds.readableFrom(), async (position) => {
      if (position >= within.next) return undefined;
      const chunk = await chunks.from(position, messagesWanted);
      const { epoch, trimmedThrough } = store.known;
      isBroken =
        chunk === 'changed' ||
        epoch !== within.epoch ||
        (trimmedThrough !== undefined && trimmedThrough >= position);
      if (isBroken || chunk === 'changed') return undefined;
      if (chunk !== undefined && chunk.firstOffset < within.next) return chunk;
      isAtEnd = true;
      return undefined;
    });
    if (outcome.kind !== 'batch') return outcome;
    if (isBroken) return outcome.count > 0 ? { ...outcome, upToDate: false } : undefined;
    // The first offset of a new epoch may lie beyond the last message plus one.
    return isAtEnd ? { ...outcome, nextOffset: within.next, upToDate: true } : outcome;
  };

  return async (request) => {
    const known = bounds.known();
    const outcome = known && (await readWithin(request, known));
    if (outcome?.kind === 'batch' && !outcome.upToDate) return outcome;
    return untilSteady(async () => readWithin(request, await bounds.current()));
  };
}

function isFiltered({ filter = {} }: LogReadRequest): boolean {
  return Object.values(filter).some((one) => one !== undefined);
}
