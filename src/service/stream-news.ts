import type { Config } from '../config/config.ts';
import type { RedisConnection } from '../redis/redis-connection.ts';
import { readRedisHead, watchRedisLogs } from '../stream/log/redis/redis-heads.ts';
import type { LogHead } from '../stream/log/stream-log.ts';
import type { Stream } from '../stream/stream.ts';
import { openLogRedis } from './open-stream-logs.ts';
import type { Service } from './service.ts';

/** News of the streams of this service, for the worker in this process. News can be lost. */
export interface StreamNews {
  /** Calls back after messages were appended to the stream of a workgroup. */
  onAppended(listener: (workgroupId: string) => void): void;
  /** The end of the stream of a workgroup; undefined if there is no stream yet. */
  headOf(workgroupId: string): Promise<LogHead | undefined>;
  close(): void;
}

/** Those who want news. */
function createListeners() {
  const listeners: Array<(workgroupId: string) => void> = [];
  return {
    onAppended: (listener: (workgroupId: string) => void) => void listeners.push(listener),
    notify(workgroupId: string) {
      for (const listener of listeners) listener(workgroupId);
    },
  };
}

/** The news of a stream in this process, and of other processes with the same logs. */
export async function newsOfStream(
  stream: Pick<Stream, 'onAppended' | 'headOf'>,
  redis: RedisConnection | undefined,
): Promise<StreamNews> {
  const { onAppended, notify } = createListeners();
  stream.onAppended(notify);
  if (redis) await watchRedisLogs(redis, notify);
  return {
    onAppended,
    headOf: stream.headOf,
    close: () => undefined,
  };
}

/**
 * The news of a stream in other processes.
 * @returns undefined if the logs are not in Redis, because then only the other processes have news of them
 */
export async function openStreamNews(
  config: Pick<Config, 'stream' | 'queue'>,
  { logger }: Pick<Service, 'logger'>,
): Promise<StreamNews | undefined> {
  if (config.stream.log !== 'redis') return undefined;
  const redis = await openLogRedis(config, logger);
  const { onAppended, notify } = createListeners();
  await watchRedisLogs(redis, notify);
  return {
    onAppended,
    headOf: (workgroupId) => readRedisHead(redis, workgroupId),
    close: redis.close,
  };
}
