import { createHash } from 'node:crypto';
import type { RedisOptions } from 'ioredis';
import { errorMessage, TerminalError, TransientError } from '../lib/errors.ts';
import type { Logger } from '../lib/logger.ts';
import { SECOND_MS } from '../lib/time.ts';
import {
  describeReply,
  type RedisSettings,
  readRedisSettings,
  warnOfRedisSettings,
} from './redis-settings.ts';
import { createRedisSubscriptions, type RedisSubscriptions } from './redis-subscriptions.ts';
import { watchOutage } from './watch-outage.ts';

/** The Redis connections that all logs of a process share: one for commands, one for news. */
export interface RedisConnection extends RedisSubscriptions {
  /** True if commands can be sent now. */
  readonly isReady: boolean;
  /**
   * Stores a value and runs a script in one transaction. Texts in the answer are buffers.
   * @throws TransientError RedisUnreachable: it was not sent; RedisAnswerLost: it may have run; RedisRefused:
   *   it changed nothing; RedisNotReplicated: it ran, and too few replicas have the value
   */
  run(
    script: RedisScript,
    keys: readonly string[],
    values: readonly RedisValue[],
    stored?: StoredValue,
  ): Promise<unknown>;
  /**
   * The values of keys; null if a key does not exist.
   * @throws TransientError as `run` does
   */
  values(keys: readonly string[]): Promise<Array<Buffer | null>>;
  /**
   * Some fields of a hash; null if a field does not exist.
   * @throws TransientError as `run` does
   */
  fields(key: string, names: readonly string[]): Promise<Array<string | null>>;
  /**
   * Calls the listener after each reconnect, when Redis may have other data. Returns a function that removes
   * the listener.
   */
  onReady(listener: () => void): () => void;
  /**
   * The version of the server, and settings that could lose messages.
   * @throws TransientError as `run` does, TerminalError if it can never be used
   */
  settings(): Promise<RedisSettings>;
  close(): void;
}

export type RedisValue = string | number;

export interface StoredValue {
  key: string;
  value: Uint8Array;
  /** Milliseconds after which Redis may delete the value. */
  keptMs: number;
}

export interface RedisScript {
  lua: string;
  sha: string;
}

/** Replicas must confirm a value within this time. Other commands wait meanwhile. */
const REPLICAS_MS = 500;
/** A command without an answer fails after this time, and the connection is opened again. */
const COMMAND_TIMEOUT_MS = 4 * SECOND_MS;
const RECONNECT_AFTER_MS_MAX = SECOND_MS;
const SENTINEL_PORT = 26_379;

export interface RedisConnectionOptions {
  url: string;
  /**
   * The `redis://` or `rediss://` addresses of the sentinels. They know where the master for the host of
   * `url` is, also after a fail-over.
   */
  sentinels?: readonly string[] | undefined;
  /** Replicas that must have stored messages before they are acknowledged. Default: 0. */
  replicasMin?: number;
  /** The purpose of the connection. Default: `stream`, whose messages must not be lost. */
  use?: 'stream' | 'queue';
  logger: Logger;
}

/**
 * Connects to Redis and logs settings of Redis that could lose messages.
 * @throws TransientError if Redis cannot be reached now, TerminalError if it can never be used; no error
 *   shows the password
 */
export async function openRedisConnection(options: RedisConnectionOptions): Promise<RedisConnection> {
  const { url, replicasMin = 0, use = 'stream', logger } = options;
  const { host, hostname, protocol } = new URL(url);
  // Loaded at first use, because it takes a tenth of the CPU of a start, and most services have no Redis.
  const { Redis } = await import('ioredis');
  const retryStrategy = (attempt: number) => Math.min(attempt * 50, RECONNECT_AFTER_MS_MAX);
  const found = options.sentinels && {
    name: hostname,
    ...sentinelOptions(options.sentinels),
    // Without it the library connects to the master without TLS.
    enableTLSForSentinelMode: protocol === 'rediss:',
    // Null makes the library give up, so that the first failure is reported at the start.
    sentinelRetryStrategy: (attempt: number) => (outage.isWatched() ? retryStrategy(attempt) : null),
  };
  // The library keeps and repeats no commands. The log decides what to repeat.
  const commands = new Redis(url, {
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    commandTimeout: COMMAND_TIMEOUT_MS,
    retryStrategy,
    lazyConnect: true,
    // After a fail-over the old master is a replica. Reconnecting finds the new master.
    reconnectOnError: (error) => error.message.includes('READONLY'),
    ...found,
  });
  const news = new Redis(url, {
    maxRetriesPerRequest: null,
    retryStrategy,
    lazyConnect: true,
    // `createRedisSubscriptions` does it.
    autoResubscribe: false,
    ...found,
  });
  const outage = watchOutage(commands, host, use, logger);
  for (const redis of [commands, news]) {
    redis.on('error', () => {
      // The library handles only the first error of a connection. TLS may emit a second one, which would end
      // the process.
      redis.stream?.on('error', () => undefined);
    });
  }
  const readyListeners = new Set<() => void>();
  const tellReady = () => {
    for (const listener of readyListeners) listener();
  };
  // The status changes a moment after a connection has ended.
  const isReady = () => commands.status === 'ready' && commands.stream.writable;
  const refused = ({ message }: Error) =>
    new TransientError(
      'RedisRefused',
      `Redis at ${host} refused: ${describeReply(message).replaceAll('stream.redisUrl', `${use}.redisUrl`)}`,
    );
  let settingsWarned = '';
  const lookAtSettings = async () => {
    // Schedules that the queue loses are written again.
    if (use === 'queue') return;
    settingsWarned = await warnOfRedisSettings(commands, settingsWarned, logger);
  };

  try {
    await Promise.all([commands.connect(), news.connect()]);
    await lookAtSettings();
  } catch (error) {
    commands.disconnect();
    news.disconnect();
    if (error instanceof TerminalError)
      throw new TerminalError(error.code, `Redis at ${host} cannot be used for the stream: ${error.message}`);
    const problem = outage.lastProblem() ?? errorMessage(error);
    if (/^(NOAUTH|WRONGPASS|NOPERM)\b/.test(problem)) throw refused(new Error(problem));
    if (use === 'queue')
      throw new TransientError(
        'QueueUnreachable',
        `Redis at ${host} cannot be used (${problem}); start it, or set queue.redisUrl`,
      );
    throw new TransientError(
      'RedisUnreachable',
      `Redis at ${host} cannot be used for the stream (${problem}); ${
        found
          ? `stream.redisSentinels must lead to those that watch ${hostname}, the host of stream.redisUrl`
          : 'start it, or set stream.redisUrl'
      }`,
    );
  }
  outage.begin();
  commands.on('ready', () => {
    lookAtSettings().catch(() => undefined);
    tellReady();
  });
  const subscriptions = createRedisSubscriptions(news, {
    asFailure: (error) => (isReply(error) ? refused(error) : error),
    onSubscribed: tellReady,
  });

  const call = async (
    command: 'EVALSHA' | 'EVAL',
    values: readonly RedisValue[],
    stored: StoredValue | undefined,
  ): Promise<unknown> => {
    if (stored === undefined) return commands.callBuffer(command, ...values);
    const { key, value, keptMs } = stored;
    // The commands are sent one by one, because a pipeline copies the value once more.
    const [, , , answers, replicas] = await Promise.all([
      commands.call('MULTI'),
      commands.set(key, Buffer.from(value.buffer, value.byteOffset, value.byteLength), 'PX', keptMs),
      commands.call(command, ...values),
      commands.call('EXEC'),
      // WAIT counts replicas for the writes of its own connection.
      replicasMin === 0 ? 0 : commands.call('WAIT', replicasMin, REPLICAS_MS),
    ]);
    const [, answer] = answers as unknown[];
    if (answer instanceof Error) throw answer;
    if (Number(replicas) < replicasMin)
      throw new TransientError(
        'RedisNotReplicated',
        `${replicas} of at least ${replicasMin} replicas of Redis at ${host} had the messages within ${REPLICAS_MS} ms (stream.redisReplicasMin); they are stored and not acknowledged: start the replicas, or lower it`,
      );
    return answer;
  };
  const attempt = async <Answer>(action: () => Promise<Answer>): Promise<Answer> => {
    if (!isReady()) throw new TransientError('RedisUnreachable', `Redis at ${host} is not reachable now`);
    try {
      return await action();
    } catch (error) {
      if (error instanceof TransientError || error instanceof TerminalError) throw error;
      // The original error contains the command and its values, so it is not passed on.
      if (isReply(error)) throw refused(error);
      if (isReady()) commands.disconnect(true);
      throw new TransientError('RedisAnswerLost', `the connection to Redis at ${host} was lost`);
    }
  };

  return {
    get isReady() {
      return isReady();
    },
    run(script, keys, values, stored) {
      const rest = [keys.length, ...keys, ...values];
      return attempt(() =>
        call('EVALSHA', [script.sha, ...rest], stored).catch((error) => {
          if (!errorMessage(error).startsWith('NOSCRIPT')) throw error;
          return call('EVAL', [script.lua, ...rest], stored);
        }),
      );
    },
    values: (keys) =>
      keys.length === 0 ? Promise.resolve([]) : attempt(() => commands.mgetBuffer([...keys])),
    fields: (key, names) => attempt(() => commands.hmget(key, ...names)),
    ...subscriptions,
    onReady(listener) {
      readyListeners.add(listener);
      return () => readyListeners.delete(listener);
    },
    settings: () => attempt(() => readRedisSettings(commands)),
    close() {
      outage.end();
      commands.disconnect();
      news.disconnect();
    },
  };
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

export function redisScript(lua: string): RedisScript {
  return { lua, sha: createHash('sha1').update(lua).digest('hex') };
}

function isReply(error: unknown): error is Error {
  return error instanceof Error && error.name === 'ReplyError';
}
