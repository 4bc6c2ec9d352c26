import { join } from 'node:path';
import { silentLogger } from '../src/lib/logger.ts';
import { systemClock } from '../src/lib/time.ts';
import { openRedisConnection } from '../src/redis/redis-connection.ts';
import { openLmdbLog } from '../src/stream/log/lmdb-log.ts';
import { createMemoryLog } from '../src/stream/log/memory-log.ts';
import { openRedisLog } from '../src/stream/log/redis/redis-log.ts';
import type { StreamLog } from '../src/stream/log/stream-log.ts';

/** A log to measure: its kind, and for one in Redis where that is. */
export type BenchLog = { kind: 'lmdb' | 'memory' } | { kind: 'redis'; url: string };

/** @param cacheBytesMax memory for the newest messages. If it is small, the log reads from its storage */
export async function openBenchLog(
  which: BenchLog,
  folder: string,
  cacheBytesMax = 64e6,
): Promise<{ log: StreamLog; close: () => Promise<void> }> {
  const options = { clock: systemClock, retentionMs: 3_600_000, cacheBytesMax, logger: silentLogger };
  switch (which.kind) {
    case 'lmdb': {
      const log = openLmdbLog({ ...options, path: join(folder, 'log') });
      return { log, close: () => log.close() };
    }
    case 'memory': {
      const log = createMemoryLog({ ...options, bytesMax: 1e9 });
      return { log, close: () => log.close() };
    }
    case 'redis': {
      const redis = await openRedisConnection({ url: which.url, logger: silentLogger });
      const log = await openRedisLog({ ...options, redis, workgroupId: 'bench' });
      return {
        log,
        async close() {
          await log.close();
          redis.close();
        },
      };
    }
    default:
      return which satisfies never;
  }
}
