import type { Redis, RedisOptions } from 'ioredis';
import { SECOND_MS } from '../lib/time.ts';

/** A command without an answer fails after this time, and the connection is opened again. */
const COMMAND_TIMEOUT_MS = 4 * SECOND_MS;
/** The first pause before a connection is opened again. Each further pause is this much longer. */
const RECONNECT_AFTER_MS = 50;
const RECONNECT_AFTER_MS_MAX = SECOND_MS;
const SENTINEL_PORT = 26_379;

/**
 * Creates the two clients of a connection: one for commands, one for subscriptions. They are not connected
 * yet. All clients of a service are made here, so this is the place for options such as those of TLS.
 * @param options.isWatched false during the start. Sentinels that lead nowhere then end it
 */
export async function createRedisClients(options: {
  url: string;
  sentinels?: readonly string[] | undefined;
  commandTimeoutMs?: number;
  isWatched: () => boolean;
}): Promise<{ commands: Redis; subscriber: Redis }> {
  const { url, commandTimeoutMs = COMMAND_TIMEOUT_MS, isWatched } = options;
  const { hostname, protocol } = new URL(url);
  // Loaded at first use, because it takes a tenth of the CPU of a start, and most services have no Redis.
  const { Redis } = await import('ioredis');
  const retryStrategy = (attempt: number) => Math.min(attempt * RECONNECT_AFTER_MS, RECONNECT_AFTER_MS_MAX);
  const found = options.sentinels && {
    name: hostname,
    ...sentinelOptions(options.sentinels),
    // Without it the library connects to the master without TLS.
    enableTLSForSentinelMode: protocol === 'rediss:',
    // Null makes the library give up, so that the first failure is reported at the start.
    sentinelRetryStrategy: (attempt: number) => (isWatched() ? retryStrategy(attempt) : null),
  };
  // The library keeps and repeats no commands. The log decides what to repeat.
  const commands = new Redis(url, {
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    commandTimeout: commandTimeoutMs,
    retryStrategy,
    lazyConnect: true,
    // After a fail-over the old master is a replica. Reconnecting finds the new master.
    reconnectOnError: (error) => error.message.includes('READONLY'),
    ...found,
  });
  const subscriber = new Redis(url, {
    maxRetriesPerRequest: null,
    retryStrategy,
    lazyConnect: true,
    // `createRedisSubscriptions` does it.
    autoResubscribe: false,
    ...found,
  });
  for (const redis of [commands, subscriber]) {
    redis.on('error', () => {
      // The library handles only the first error of a connection. TLS may emit a second one, which would end
      // the process.
      redis.stream?.on('error', () => undefined);
    });
  }
  return { commands, subscriber };
}

/** The settings to reach the sentinels. All use the settings of the first address. */
function sentinelOptions(addresses: readonly string[]): Partial<RedisOptions> {
  const urls = addresses.map((address) => new URL(address));
  const [first] = urls;
  return {
    sentinels: urls.map(({ hostname, port }) => ({ host: hostname, port: Number(port || SENTINEL_PORT) })),
    ...(first?.username && { sentinelUsername: decodeURIComponent(first.username) }),
    ...(first?.password && { sentinelPassword: decodeURIComponent(first.password) }),
    ...(first?.protocol === 'rediss:' && { sentinelTLS: {} }),
  };
}
