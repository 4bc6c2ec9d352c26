import type { RedisConnection } from '../../../redis/redis-connection.ts';
import type { LogHead } from '../stream-log.ts';
import { offsetOfEntryId } from './redis-replies.ts';

const NEWS_CHANNEL = /^wattline:stream:\{(.+)\}:news$/;

/**
 * Reads the end of the log of a workgroup in Redis, without opening the log.
 * @returns undefined if there is no log
 */
export async function readRedisHead(
  redis: RedisConnection,
  workgroupId: string,
): Promise<LogHead | undefined> {
  const names = ['epoch', 'ms', 'sequence', 'trimmedMs', 'trimmedSequence'];
  const [epoch, ...numbers] = await redis.fields(`wattline:stream:{${workgroupId}}:head`, names);
  if (epoch == null || numbers.includes(null)) return undefined;
  const [ms, sequence, trimmedMs, trimmedSequence] = numbers;
  const lastOffset = offsetOfEntryId(`${ms}-${sequence}`);
  const trimmed = offsetOfEntryId(`${trimmedMs}-${trimmedSequence}`);
  return { epoch, next: lastOffset === undefined ? 0n : lastOffset + 1n, isEmpty: lastOffset === trimmed };
}

/** Calls back after each append of any process to a log in Redis. */
export async function watchRedisLogs(
  redis: RedisConnection,
  listener: (workgroupId: string) => void,
): Promise<void> {
  await redis.subscribePattern('wattline:stream:{*}:news', (channel) => {
    const workgroupId = NEWS_CHANNEL.exec(channel)?.[1];
    if (workgroupId !== undefined) listener(workgroupId);
  });
}
