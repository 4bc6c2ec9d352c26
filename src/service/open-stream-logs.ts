import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from '../config/config.ts';
import type { HealthCheck } from '../http/health-routes.ts';
import { openLmdbLog } from '../stream/log/lmdb-log.ts';
import { createMemoryLog } from '../stream/log/memory-log.ts';
import { openRedisConnection } from '../stream/log/redis/redis-connection.ts';
import { openRedisLog } from '../stream/log/redis/redis-log.ts';
import type { StreamLog } from '../stream/log/stream-log.ts';
import type { Service } from './service.ts';
import { watchStreamLogs } from './watch-stream-logs.ts';

/** The logs of a service's workgroups, of the configured kind. */
export interface StreamLogs {
  openLog(workgroupId: string): StreamLog | Promise<StreamLog>;
  /** Checks that messages can be stored. */
  readiness?: HealthCheck;
  /** Frees what the logs share, after they are closed. */
  close(): void;
}

/** @throws TransientError if the logs are in Redis and Redis is not reachable */
export async function openStreamLogs(
  { dataDir, stream, queue }: Pick<Config, 'dataDir' | 'stream' | 'queue'>,
  { logger, clock }: Pick<Service, 'logger' | 'clock'>,
): Promise<StreamLogs> {
  const cacheBytesMax = stream.cacheMegabytes * 1024 * 1024;
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
      const { openLog, readiness } = watchStreamLogs(folder, (workgroupId) =>
        openLmdbLog({ ...options, path: join(folder, workgroupId) }),
      );
      return { openLog, readiness, close: () => undefined };
    }
    case 'redis': {
      const url = stream.redisUrl ?? queue.redisUrl ?? '';
      const { redisSentinels: sentinels, redisReplicasMin: replicasMin } = stream;
      const redis = await openRedisConnection({ url, sentinels, replicasMin, logger });
      return {
        openLog: (workgroupId) => openRedisLog({ ...options, redis, workgroupId }),
        readiness: () => ({ ok: redis.isReady, detail: { log: 'redis' } }),
        close: redis.close,
      };
    }
    default:
      return stream.log satisfies never;
  }
}
