import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from '../config/config.ts';
import type { HealthCheck } from '../http/health-routes.ts';
import { MEBIBYTE } from '../lib/units.ts';
import { openRedisConnection, type RedisConnection } from '../redis/redis-connection.ts';
import { openLmdbLog, readLmdbHead } from '../stream/log/lmdb-log.ts';
import { createMemoryLog } from '../stream/log/memory-log.ts';
import { readRedisHead } from '../stream/log/redis/redis-heads.ts';
import { openRedisLog } from '../stream/log/redis/redis-log.ts';
import type { RetentionFrom } from '../stream/log/retention-floor.ts';
import type { LogHead, StreamLog } from '../stream/log/stream-log.ts';
import type { Service } from './service.ts';
import { watchStreamLogs } from './watch-stream-logs.ts';

/** The logs of a service's workgroups, of the configured kind. */
interface StreamLogs {
  openLog(workgroupId: string, retentionFrom?: RetentionFrom): StreamLog | Promise<StreamLog>;
  /** Reads the end of a log that is not open. Undefined for logs in memory, which cannot be closed. */
  readHead?: (workgroupId: string) => Promise<LogHead | undefined>;
  /** The connection of logs in Redis, which other processes use too. */
  redis?: RedisConnection;
  /** Checks that messages can be stored. */
  readiness?: HealthCheck;
  /** Frees the shared objects of the logs, after they are closed. */
  close(): void;
}

/** @throws TransientError if the logs are in Redis and Redis is not reachable */
export async function openStreamLogs(
  { dataDir, stream, queue }: Pick<Config, 'dataDir' | 'stream' | 'queue'>,
  { logger, clock }: Pick<Service, 'logger' | 'clock'>,
): Promise<StreamLogs> {
  const cacheBytesMax = stream.cacheMegabytes * MEBIBYTE;
  const options = { retentionMs: stream.retention, cacheBytesMax, clock, logger };
  switch (stream.log) {
    case 'memory':
      return {
        openLog: () => createMemoryLog({ ...options, bytesMax: cacheBytesMax }),
        close: () => undefined,
      };
    case 'lmdb': {
      const folder = join(dataDir, 'stream');
      mkdirSync(folder, { recursive: true });
      const { openLog, readiness } = watchStreamLogs(folder, (workgroupId, retentionFrom) =>
        openLmdbLog({ ...options, retentionFrom, path: join(folder, workgroupId) }),
      );
      const readHead = (workgroupId: string) => readLmdbHead(join(folder, workgroupId));
      return { openLog, readHead, readiness, close: () => undefined };
    }
    case 'redis': {
      const redis = await openLogRedis({ stream, queue }, logger);
      return {
        openLog: (workgroupId, retentionFrom) =>
          openRedisLog({ ...options, retentionFrom, redis, workgroupId }),
        readHead: (workgroupId) => readRedisHead(redis, workgroupId),
        redis,
        readiness: () => ({ ok: redis.isReady, detail: { log: 'redis' } }),
        close: redis.close,
      };
    }
    default:
      return stream.log satisfies never;
  }
}

/**
 * Connects to the Redis of the logs.
 * @throws TransientError if it is not reachable
 */
export function openLogRedis(
  { stream, queue }: Pick<Config, 'stream' | 'queue'>,
  logger: Service['logger'],
): Promise<RedisConnection> {
  const url = stream.redisUrl ?? queue.redisUrl ?? '';
  const { redisSentinels: sentinels, redisReplicasMin: replicasMin } = stream;
  return openRedisConnection({ url, sentinels, replicasMin, logger });
}
