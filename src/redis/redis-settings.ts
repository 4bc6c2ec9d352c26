import type { Redis } from 'ioredis';
import { errorMessage, TerminalError } from '../lib/errors.ts';
import type { Logger } from '../lib/logger.ts';

/** The first version with exclusive ranges of streams and trimming by id. */
const VERSION_MIN = [6, 2] as const;

/** What a connection is for: the messages of the stream, or the jobs and leases of the queue. */
export type RedisUse = 'stream' | 'queue';

/** The facts that a server reports about itself. */
export interface RedisSettings {
  /** Undefined if the user may not run INFO. */
  version: string | undefined;
  /** Settings that could lose acknowledged messages, each with what to change. */
  problems: string[];
}

/**
 * Logs the settings of Redis that could lose acknowledged messages.
 * @param warned the warnings of the last call, which are not repeated
 * @returns the warnings of this call
 * @throws TerminalError if the server is too old, or is not a single server
 */
export async function warnOfRedisSettings(redis: Redis, warned: string, logger: Logger): Promise<string> {
  const { problems } = await readRedisSettings(redis);
  const summary = problems.join('; ');
  if (summary !== warned && problems.length > 0) logger.warn({ problems }, 'stream.redis-may-lose-messages');
  return summary;
}

/**
 * Reads the version of a server and the settings that could lose acknowledged messages.
 * @throws TerminalError if the server is too old, or is not a single server
 */
export async function readRedisSettings(redis: Redis): Promise<RedisSettings> {
  const info = await infoOf(redis);
  const factOf = (name: string) => new RegExp(`^${name}:(\\S+)`, 'm').exec(info)?.[1];
  requireSingle(factOf('redis_mode'));
  requireVersion(factOf('redis_version'));
  const problems: string[] = [];
  if (factOf('run_id') === undefined || factOf('master_replid') === undefined)
    problems.push(
      'it does not say which server it is (INFO): after a fail-over the stream may not report lost messages to its readers; allow this user to run INFO',
    );
  const policy = factOf('maxmemory_policy');
  if (policy !== undefined && policy !== 'noeviction')
    problems.push(
      `maxmemory-policy is ${policy}: Redis may drop the stream when its memory is full; set noeviction`,
    );
  if (factOf('aof_enabled') === '0')
    problems.push('appendonly is off: a crash of Redis loses messages that were acknowledged; set it to yes');
  else if (factOf('aof_enabled') === '1' && (await settingOf(redis, 'appendfsync')) !== 'always')
    problems.push(
      'appendfsync is not always: a crash of its machine loses the messages that were acknowledged in the last second',
    );
  if (factOf('role') === 'slave') problems.push('the server is a replica: it takes no messages');
  return { version: factOf('redis_version'), problems };
}

/** Returns empty text if the user may not run INFO. */
async function infoOf(redis: Redis): Promise<string> {
  try {
    return await redis.info();
  } catch (error) {
    if (errorMessage(error).startsWith('NOPERM')) return '';
    throw error;
  }
}

/** Hosted servers may refuse CONFIG. The setting then counts as correct. */
async function settingOf(redis: Redis, name: 'appendfsync'): Promise<string | undefined> {
  try {
    return ((await redis.config('GET', name)) as string[])[1];
  } catch {
    return 'always';
  }
}

function requireSingle(mode: string | undefined): void {
  if (mode === 'cluster')
    throw new TerminalError(
      'RedisCluster',
      'it is a node of a Redis cluster, which the stream does not use; give it a server of its own, with Sentinel if it has to fail over',
    );
  if (mode === 'sentinel')
    throw new TerminalError(
      'RedisSentinel',
      'it is a sentinel: name it in stream.redisSentinels, and the master it watches as the host of stream.redisUrl',
    );
}

function requireVersion(version: string | undefined): void {
  if (version === undefined) return;
  const [major = 0, minor = 0] = version.split('.').map(Number);
  if (major > VERSION_MIN[0] || (major === VERSION_MIN[0] && minor >= VERSION_MIN[1])) return;
  throw new TerminalError(
    'RedisTooOld',
    `its version is ${version}, the stream needs ${VERSION_MIN.join('.')} or later`,
  );
}

const refusals: Readonly<Record<string, (use: RedisUse) => string>> = {
  OOM: (use) =>
    `its memory is full: raise maxmemory${use === 'stream' ? ', or shorten stream.retention' : ''}`,
  MISCONF: () => 'it cannot write to its disk: read its own log',
  READONLY: () => 'it is a replica now: the address must lead to the master',
  LOADING: () => 'it is reading its data after a start',
  NOREPLICAS: () => 'it has fewer replicas than min-replicas-to-write wants',
  NOAUTH: (use) => `it wants a password: set it in ${use}.redisUrl`,
  WRONGPASS: (use) => `the user or the password in ${use}.redisUrl is wrong, or the user is off`,
  NOPERM: (use) =>
    use === 'stream'
      ? 'this user may not run scripts and commands on keys and channels that begin with wattline:stream; docs/stream.md has the rights it needs'
      : 'this user may not run scripts and commands on keys and channels that begin with wattline',
};

/** Explains an error reply to a person, or returns its first words if it is not known. */
export function describeReply(message: string, use: RedisUse): string {
  const code = Object.keys(refusals).find((one) => new RegExp(`\\b${one}\\b`).test(message));
  return code ? refusals[code]!(use) : message.slice(0, REPLY_CHARACTERS_MAX);
}

const REPLY_CHARACTERS_MAX = 200;
