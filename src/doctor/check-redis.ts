import type { Config } from '../config/config.ts';
import { silentLogger } from '../lib/logger.ts';
import { openRedisConnection } from '../redis/redis-connection.ts';
import type { RedisUse } from '../redis/redis-settings.ts';
import { type Check, type Fact, ok, warning } from './run-checks.ts';

/**
 * The servers of the log and of the queue: reachable, of a version that can be used, with settings that lose
 * nothing.
 */
export function checkRedis({ stream, queue }: Pick<Config, 'stream' | 'queue'>): Check[] {
  const streamUrl = stream.log === 'redis' ? (stream.redisUrl ?? queue.redisUrl) : undefined;
  const queueUrl = queue.backend === 'redis' ? queue.redisUrl : undefined;
  return [
    ...(streamUrl === undefined ? [] : [check('redis of the stream', streamUrl, 'stream' as const)]),
    ...(queueUrl === undefined || queueUrl === streamUrl
      ? []
      : [check('redis of the queue', queueUrl, 'queue')]),
  ];

  function check(name: string, url: string, use: RedisUse): Check {
    const sentinels = use === 'stream' ? stream.redisSentinels : undefined;
    return { name, run: (signal) => ask({ url, use, ...(sentinels && { sentinels }) }, signal) };
  }
}

async function ask(
  server: { url: string; use: RedisUse; sentinels?: readonly string[] },
  signal: AbortSignal,
): Promise<Fact[]> {
  const connection = await openRedisConnection({ ...server, logger: silentLogger });
  signal.addEventListener('abort', () => connection.close(), { once: true });
  try {
    const { version, problems } = await connection.settings();
    const { host } = new URL(server.url);
    return [
      ok(`Redis ${version ?? 'of an unknown version'} answers at ${host}`),
      // The queue is written again after a loss. So the only harmful setting is one that drops keys when the
      // memory is full.
      ...problems
        .filter((one) => server.use === 'stream' || one.startsWith('maxmemory-policy'))
        .map((one) => warning(one)),
    ];
  } finally {
    connection.close();
  }
}
