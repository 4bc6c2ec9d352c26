import { setImmediate as nextTurn } from 'node:timers/promises';
import { promisify } from 'node:util';
import { gunzip, gzip } from 'node:zlib';
import { TransientError } from '../../lib/errors.ts';
import type { Logger } from '../../lib/logger.ts';
import { DAY_MS, MINUTE_MS } from '../../lib/time.ts';
import type { RedisConnection } from '../../redis/redis-connection.ts';
import type { RedisLease } from '../../redis/redis-lease.ts';
import { redisScript } from '../../redis/redis-script.ts';
import { type PresenceStore, parsePresence, presencePieces } from './stored-presence.ts';

const compress = promisify(gzip);
const decompress = promisify(gunzip);

/**
 * Redis deletes the presence of a workgroup this long after its last change, if the workgroup is no longer
 * watched. The time is longer than the 7 days after which devices are forgotten.
 */
const KEPT_MS = 8 * DAY_MS;

/**
 * Keys: lease, draft, state. ARGV 1: holder of the lease. 2: milliseconds. Returns 0 if another process has
 * the lease.
 */
const REPLACE = redisScript(`
if redis.call('GET', KEYS[1]) ~= ARGV[1] then
  redis.call('DEL', KEYS[2])
  return 0
end
redis.call('RENAME', KEYS[2], KEYS[3])
redis.call('PEXPIRE', KEYS[3], ARGV[2])
return 1
`);

/**
 * The presence of devices in the Redis of the log, so that all stream processes have the same. Only the
 * holder of the lease can write.
 */
export function createRedisPresence(
  redis: Pick<RedisConnection, 'run' | 'values'>,
  { workgroupId, lease, logger }: { workgroupId: string; lease: RedisLease; logger: Logger },
): PresenceStore {
  const key = `wattline:stream:{${workgroupId}}:presence`;
  const draftKey = `${key}:${lease.holder}`;
  return {
    async read() {
      const [value] = await redis.values([key]);
      if (!value) return undefined;
      const text = await decompress(value).catch(() => undefined);
      const stored = text && parsePresence(text.toString('utf8'));
      if (!stored) logger.warn({ key }, 'presence.unreadable');
      return stored;
    },
    async write(stored) {
      const pieces: Buffer[] = [];
      for (const piece of presencePieces(stored)) {
        pieces.push(Buffer.from(piece));
        await nextTurn();
      }
      const value = await compress(Buffer.concat(pieces));
      const written = await redis.run(REPLACE, [lease.key, draftKey, key], [lease.holder, KEPT_MS], {
        key: draftKey,
        value,
        keptMs: MINUTE_MS,
      });
      if (written !== 1)
        throw new TransientError(
          'PresenceElsewhere',
          'another stream process watches the devices now; this one stops',
        );
    },
  };
}
