import { join } from 'node:path';
import { z } from 'zod';
import { errorMessage } from '../lib/errors.ts';
import type { Logger } from '../lib/logger.ts';
import { repeat } from '../lib/repeat.ts';
import { SECOND_MS, type UtcMs } from '../lib/time.ts';
import type { StartTimer } from '../lib/timer.ts';
import type { RedisConnection } from '../redis/redis-connection.ts';
import { redisScript } from '../redis/redis-script.ts';
import { openTokenFiles } from './token-files.ts';

interface SharedRevocationsOptions {
  /** The folder `access/` in it has the list of revoked tokens, see `createAccess`. */
  dataDir: string;
  redis: Pick<RedisConnection, 'run' | 'subscribe' | 'onReady'>;
  startTimer: StartTimer;
  logger: Logger;
}

/**
 * The revocations, and the time at which the last one was added, as a version. The version differs after
 * Redis has lost its data.
 */
const KEYS = ['wattline:revoked', 'wattline:revoked:version'];
const CHANNEL = 'wattline:revoked:news';
/**
 * The file is read this often. A command revokes a token in the file first. It also tells Redis, but Redis
 * may be away.
 */
const LOOK_EVERY_MS = 400;
/** Without news, Redis is asked this often, because a message with news can be lost. */
const PULL_EVERY_MS = 5 * SECOND_MS;
/** A longer id is not one of a token. */
const idSchema = z.string().min(1).max(1_024);

/**
 * Arguments: the version and the number that the caller knows. Answers with the version, and with all ids and
 * times if something differs.
 */
const PULL = redisScript(`
  local version = redis.call('GET', KEYS[2]) or ''
  local isKnown = version == ARGV[1] and redis.call('HLEN', KEYS[1]) == tonumber(ARGV[2])
  return {version, isKnown and 1 or 0, isKnown and {} or redis.call('HGETALL', KEYS[1])}`);
/**
 * Arguments: the channel, then ids and times. The first time of an id counts. If something is new, it
 * is published to the other machines.
 */
const PUSH = redisScript(`
  local added = 0
  for i = 2, #ARGV, 2 do added = added + redis.call('HSETNX', KEYS[1], ARGV[i], ARGV[i + 1]) end
  if added > 0 then
    local time = redis.call('TIME')
    redis.call('SET', KEYS[2], time[1] .. '.' .. time[2])
    redis.call('PUBLISH', ARGV[1], added)
  end
  return added`);
/** Lua takes a bounded number of arguments. */
const PUSHED_AT_ONCE = 1_000;

/**
 * Tells all machines of one revocation at once.
 * @throws TransientError if Redis cannot be reached. A running process of this data folder tells them later
 */
export async function tellRevocation(
  redis: Pick<RedisConnection, 'run'>,
  tokenId: string,
  revokedAtMs: UtcMs,
): Promise<void> {
  await pushRevocations(redis, [[tokenId, revokedAtMs]]);
}

async function pushRevocations(
  redis: Pick<RedisConnection, 'run'>,
  revocations: ReadonlyArray<[tokenId: string, revokedAtMs: UtcMs]>,
): Promise<void> {
  await redis.run(PUSH, KEYS, [CHANNEL, ...revocations.flat()]);
}

/**
 * Shares the revoked tokens of several data folders through Redis: a token that is revoked in one of them is
 * refused in all of them within a second. It takes five seconds if the news of Redis is lost. Each file keeps
 * all revocations, so they also count while Redis is away, and Redis gets them back if it has lost them.
 * Tokens that are revoked meanwhile are refused in the own folder at once, and in the others when Redis is
 * back.
 * @returns stops it
 */
export async function shareRevocations(options: SharedRevocationsOptions): Promise<() => Promise<void>> {
  const { redis, startTimer, logger } = options;
  const files = openTokenFiles(join(options.dataDir, 'access'));
  /** The ids that Redis has, as far as this process knows. */
  let known = new Set<string>();
  let version: string | undefined;
  let isFailing = false;
  /** The monotonic time of the last moment when all revocations of Redis were known. */
  let pulledAtMs = Number.NEGATIVE_INFINITY;

  const missing = () => [...files.revoked()].filter(([tokenId]) => !known.has(tokenId));

  async function readShared(): Promise<void> {
    const askedAtMs = performance.now();
    const answer = await redis.run(PULL, KEYS, [version ?? 'unknown', known.size]);
    const [current, isKnown, fields] = answer as [Buffer, number, Buffer[]];
    if (isKnown === 1) {
      pulledAtMs = askedAtMs;
      return;
    }
    known = new Set();
    for (let index = 0; index < fields.length; index += 2) {
      const tokenId = String(fields[index]);
      known.add(tokenId);
      const revokedAtMs = Number(fields[index + 1]);
      const isValid = idSchema.safeParse(tokenId).success && Number.isFinite(revokedAtMs);
      if (isValid && files.revokedAt(tokenId) === undefined) files.addRevoked({ tokenId, revokedAtMs });
    }
    // After a failure everything is read again.
    version = String(current);
    pulledAtMs = askedAtMs;
  }

  async function shareMissing(): Promise<void> {
    const revocations = missing();
    for (let from = 0; from < revocations.length; from += PUSHED_AT_ONCE) {
      const some = revocations.slice(from, from + PUSHED_AT_ONCE);
      await pushRevocations(redis, some);
      for (const [tokenId] of some) known.add(tokenId);
    }
  }

  /** News can arrive while the last look is running, so looks wait for each other. */
  let looking: Promise<void> = Promise.resolve();
  /** @param news `possible` if Redis can have something new */
  function synchronize(news: 'none' | 'possible'): Promise<void> {
    looking = looking.then(async () => {
      const isDue = news === 'possible' || performance.now() - pulledAtMs >= PULL_EVERY_MS;
      if (!isDue && missing().length === 0) return;
      try {
        await readShared();
        await shareMissing();
        isFailing = false;
      } catch (error) {
        if (!isFailing) logger.warn({ error: errorMessage(error) }, 'access.revocations-not-shared');
        isFailing = true;
      }
    });
    return looking;
  }

  const unsubscribe = await redis.subscribe(CHANNEL, () => void synchronize('possible'));
  const stopListening = redis.onReady(() => void synchronize('possible'));
  await synchronize('possible');
  const repeating = repeat(LOOK_EVERY_MS, startTimer, () => synchronize('none'));
  return async () => {
    stopListening();
    await repeating.stop();
    await looking;
    await unsubscribe().catch(() => undefined);
  };
}
