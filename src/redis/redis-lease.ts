import { randomUUID } from 'node:crypto';
import { type Clock, elapsedOf, SECOND_MS } from '../lib/time.ts';
import type { RedisConnection } from './redis-connection.ts';
import { redisScript } from './redis-script.ts';
import type { TaskLease } from './task-lease.ts';

/** A lease in Redis that one of several processes has. It ends by itself if its holder does not renew it. */
export interface RedisLease extends TaskLease {
  readonly key: string;
  /** The value of the key while this process has the lease. It is random. */
  readonly holder: string;
  /**
   * Takes or renews the lease if it is time to ask Redis. To be called about every second.
   * @returns true if this process has the lease
   * @throws TransientError if Redis does not answer; then nobody knows who has it
   */
  acquireOrRenew(): Promise<boolean>;
}

interface RedisLeaseOptions {
  redis: Pick<RedisConnection, 'run'>;
  key: string;
  /** The lease of a killed process ends after this time. Default: 15 s. */
  leaseMs?: number;
  clock: Clock;
}

const TASK_LEASE_MS = 15 * SECOND_MS;
/** How often its holder renews a lease, and others ask for it, in the time of a lease. */
const RENEWALS_PER_LEASE = 5;
const ASKS_PER_LEASE = 3;

/**
 * ARGV 1: holder. 2: milliseconds. 3: 1 if a free lease may be taken. Returns 1 if it is held, 0 if another
 * has it, -1 if it is free.
 */
const HOLD = redisScript(`
local holder = redis.call('GET', KEYS[1])
if holder == ARGV[1] or (not holder and ARGV[3] == '1') then
  redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
  return 1
end
return holder and 0 or -1
`);

const RELEASE = redisScript(`
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('DEL', KEYS[1])
`);

/**
 * A holder renews more often than others ask, and another process takes a free lease only at the second ask
 * in a row. So the holder keeps the lease if Redis loses its data.
 */
export function createRedisLease({
  redis,
  key,
  leaseMs = TASK_LEASE_MS,
  clock,
}: RedisLeaseOptions): RedisLease {
  const holder = randomUUID();
  let state: 'unknown' | 'held' | 'taken' | 'free' = 'unknown';
  let askedAtMs = Number.NEGATIVE_INFINITY;
  return {
    key,
    holder,
    async acquireOrRenew() {
      const waitMs = leaseMs / (state === 'held' ? RENEWALS_PER_LEASE : ASKS_PER_LEASE);
      if (elapsedOf(clock) - askedAtMs < waitMs) return state === 'held';
      const mayTake = state === 'taken' ? 0 : 1;
      const answer = await redis.run(HOLD, [key], [holder, leaseMs, mayTake]);
      // After an error the next call asks again.
      askedAtMs = elapsedOf(clock);
      state = answer === 1 ? 'held' : answer === 0 ? 'taken' : 'free';
      return state === 'held';
    },
    async release() {
      state = 'taken';
      askedAtMs = elapsedOf(clock);
      await redis.run(RELEASE, [key], [holder]);
    },
  };
}
