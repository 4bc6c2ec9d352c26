import { onTestFinished } from 'vitest';
import type { Offset } from '../../src/contract/offset.ts';
import { type Logger, silentLogger } from '../../src/lib/logger.ts';
import { type Clock, systemClock } from '../../src/lib/time.ts';
import type { StartTimer } from '../../src/lib/timer.ts';
import { openRedisConnection, type RedisConnection } from '../../src/redis/redis-connection.ts';
import { openRedisLog } from '../../src/stream/log/redis/redis-log.ts';
import type { LogBounds, StreamLog } from '../../src/stream/log/stream-log.ts';
import { decodeParts } from './messages.ts';

export interface TestRedisLog {
  log: StreamLog;
  redis: RedisConnection;
}

/**
 * One process's view of a log in Redis: its own connections and its own memory. Closed when the test has
 * finished.
 */
export async function openTestRedisLog(
  url: string,
  options: {
    workgroupId?: string;
    clock?: Clock;
    startTimer?: StartTimer;
    logger?: Logger;
    cacheBytesMax?: number;
    retentionMs?: number;
    sentinels?: readonly string[];
    replicasMin?: number;
  } = {},
): Promise<TestRedisLog> {
  const { logger: lines = silentLogger, sentinels, replicasMin = 0 } = options;
  const redis = await openRedisConnection({ url, sentinels, replicasMin, logger: lines });
  onTestFinished(() => redis.close());
  const log = await openRedisLog({
    workgroupId: 'acme',
    clock: systemClock,
    retentionMs: 3_600_000,
    cacheBytesMax: 1e6,
    logger: silentLogger,
    ...options,
    redis,
  });
  onTestFinished(() => log.close());
  return { log, redis };
}

/** All messages that a reader gets from a position to the end of the log. */
export async function readToTail(log: StreamLog, from: Offset | 'oldest' = 'oldest') {
  const messages = [];
  let position = from;
  for (;;) {
    const outcome = await log.read({ from: position, limit: 10_000, bytesMax: 8e6, oneAtLeast: true });
    if (outcome.kind !== 'batch') throw new Error(outcome.kind);
    messages.push(...decodeParts(outcome.parts));
    position = outcome.nextOffset;
    if (outcome.upToDate) return { messages, bounds: outcome.bounds satisfies LogBounds };
  }
}

/** Offset and number of each message. Two readers must get the same ones. */
export function identitiesOf(
  messages: readonly { offset: bigint | number; msg_id?: number | null }[],
): string[] {
  return messages.map(({ offset, msg_id }) => `${offset} ${msg_id}`);
}
