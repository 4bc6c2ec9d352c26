import { errorMessage, TerminalError, TransientError } from '../lib/errors.ts';
import type { Logger } from '../lib/logger.ts';
import { createRedisClients } from './redis-clients.ts';
import { createScriptRunner, type RunScript } from './redis-script.ts';
import {
  describeReply,
  type RedisSettings,
  type RedisUse,
  readRedisSettings,
  warnOfRedisSettings,
} from './redis-settings.ts';
import { createRedisSubscriptions, type RedisSubscriptions } from './redis-subscriptions.ts';
import { watchOutage } from './watch-outage.ts';

/** The Redis connections that all logs of a process share: one for commands, one for subscriptions. */
export interface RedisConnection extends RedisSubscriptions {
  /** True if commands can be sent now. */
  readonly isReady: boolean;
  /**
   * Stores a value and runs a script in one transaction. Texts in the answer are buffers.
   * @throws TransientError RedisUnreachable: it was not sent; RedisAnswerLost: it may have run; RedisRefused:
   *   it changed nothing; RedisNotReplicated: it ran, and too few replicas have the value
   */
  run: RunScript;
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

interface RedisConnectionOptions {
  url: string;
  /**
   * The `redis://` or `rediss://` addresses of the sentinels. They know where the master for the host of
   * `url` is, also after a fail-over.
   */
  sentinels?: readonly string[] | undefined;
  /** Replicas that must have stored messages before they are acknowledged. Default: 0. */
  replicasMin?: number;
  /** The purpose of the connection. Default: `stream`, whose messages must not be lost. */
  use?: RedisUse;
  /** A command without an answer fails after this time, and the connection is opened again. Default: 4 s. */
  commandTimeoutMs?: number;
  logger: Logger;
}

/**
 * Connects to Redis and logs settings of Redis that could lose messages.
 * @throws TransientError if Redis cannot be reached now, TerminalError if it can never be used; no error
 *   shows the password
 */
export async function openRedisConnection(options: RedisConnectionOptions): Promise<RedisConnection> {
  const { url, replicasMin = 0, use = 'stream', logger } = options;
  const { host, hostname } = new URL(url);
  const { commands, subscriber } = await createRedisClients({
    ...options,
    isWatched: () => outage.isWatched(),
  });
  const outage = watchOutage(commands, host, use, logger);
  const readyListeners = new Set<() => void>();
  const tellReady = () => {
    for (const listener of readyListeners) listener();
  };
  // The status changes a moment after a connection has ended.
  const isReady = () => commands.status === 'ready' && commands.stream.writable;
  const refusedError = (reply: string) =>
    new TransientError('RedisRefused', `Redis at ${host} refused: ${describeReply(reply, use)}`);
  let lastWarning = '';
  const warnOfSettings = async () => {
    // Schedules that the queue loses are written again, so its settings need no warning.
    if (use === 'queue') return;
    lastWarning = await warnOfRedisSettings(commands, lastWarning, logger);
  };

  try {
    await Promise.all([commands.connect(), subscriber.connect()]);
    await warnOfSettings();
  } catch (error) {
    commands.disconnect();
    subscriber.disconnect();
    if (error instanceof TerminalError)
      throw new TerminalError(error.code, `Redis at ${host} cannot be used for the stream: ${error.message}`);
    const problem = outage.lastProblem() ?? errorMessage(error);
    if (/^(NOAUTH|WRONGPASS|NOPERM)\b/.test(problem)) throw refusedError(problem);
    if (use === 'queue')
      throw new TransientError(
        'QueueUnreachable',
        `Redis at ${host} cannot be used (${problem}); start it, or set queue.redisUrl`,
      );
    throw new TransientError(
      'RedisUnreachable',
      `Redis at ${host} cannot be used for the stream (${problem}); ${
        options.sentinels
          ? `stream.redisSentinels must name the sentinels that watch ${hostname}, the host of stream.redisUrl`
          : 'start it, or set stream.redisUrl'
      }`,
    );
  }
  outage.begin();
  commands.on('ready', () => {
    warnOfSettings().catch(() => undefined);
    tellReady();
  });
  const subscriptions = createRedisSubscriptions(subscriber, {
    asFailure: (error) => (isReply(error) ? refusedError(error.message) : error),
    onSubscribed: tellReady,
  });

  const runScript = createScriptRunner(commands, host, replicasMin);
  const attempt = async <Answer>(action: () => Promise<Answer>): Promise<Answer> => {
    if (!isReady())
      throw new TransientError(
        'RedisUnreachable',
        `Redis at ${host} is not reachable now; start it, or correct its address`,
      );
    try {
      return await action();
    } catch (error) {
      if (error instanceof TransientError || error instanceof TerminalError) throw error;
      // The original error contains the command and its values, so it is not passed on.
      if (isReply(error)) throw refusedError(error.message);
      // The connection can be dead although it looks open. Then only a new one reaches Redis.
      if (isReady()) commands.disconnect(true);
      throw new TransientError('RedisAnswerLost', `the connection to Redis at ${host} was lost`);
    }
  };

  return {
    get isReady() {
      return isReady();
    },
    run: (script, keys, values, stored) => attempt(() => runScript(script, keys, values, stored)),
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
      subscriber.disconnect();
    },
  };
}

function isReply(error: unknown): error is Error {
  return error instanceof Error && error.name === 'ReplyError';
}
