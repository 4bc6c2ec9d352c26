import type { Redis } from 'ioredis';

/**
 * Leases decide which worker owns which shard. The epoch of the warehouse guarantees that no other worker writes. Calls fail at once if the store is
 * not reachable.
 */
export interface Leases {
  /** The duration of a lease without renewal. */
  readonly leaseMs: number;
  /** Takes a free lease, or renews an own one. @returns true if this worker has it now */
  hold(workgroupId: string): Promise<boolean>;
  /** Releases an own lease. */
  release(workgroupId: string): Promise<void>;
  /** Reports that this worker is alive. @returns the number of living workers, including this one */
  heartbeat(): Promise<number>;
  /** Removes this worker from the living ones. */
  leave(): Promise<void>;
  /** All workgroups that ever had a lease here, also those that are no longer configured. */
  known(): Promise<string[]>;
  forget(workgroupId: string): Promise<void>;
}

/** Leases for the single process with an embedded queue. */
export function createLocalLeases(leaseMs: number): Leases {
  const held = new Set<string>();
  return {
    leaseMs,
    async hold(workgroupId) {
      held.add(workgroupId);
      return true;
    },
    async release() {},
    async heartbeat() {
      return 1;
    },
    async leave() {},
    async known() {
      return [...held];
    },
    async forget(workgroupId) {
      held.delete(workgroupId);
    },
  };
}

const HOLD = `
  local owner = redis.call('GET', KEYS[1])
  if owner == ARGV[1] then
    redis.call('PEXPIRE', KEYS[1], ARGV[2])
  elseif not redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then
    return 0
  end
  redis.call('SADD', KEYS[2], ARGV[3])
  return 1`;

const RELEASE = `
  if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end
  return 0`;

/** Ages use the clock of the store, so workers need not have the same time. */
const HEARTBEAT = `
  local time = redis.call('TIME')
  local now = time[1] * 1000 + math.floor(time[2] / 1000)
  redis.call('ZADD', KEYS[1], now, ARGV[1])
  redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - ARGV[2])
  return redis.call('ZCARD', KEYS[1])`;

/**
 * Leases in Redis, for several workers.
 * @param workerId random, so that a restarted worker is another worker
 */
export function createRedisLeases(
  redis: Redis,
  options: { workerId: string; leaseMs: number; prefix: string },
): Leases {
  const { workerId, leaseMs, prefix } = options;
  const leaseKey = (workgroupId: string) => `${prefix}:lease:${workgroupId}`;
  const workersKey = `${prefix}:workers`;
  const knownKey = `${prefix}:workgroups`;
  return {
    leaseMs,
    async hold(workgroupId) {
      const held = await redis.eval(HOLD, 2, leaseKey(workgroupId), knownKey, workerId, leaseMs, workgroupId);
      return held === 1;
    },
    async release(workgroupId) {
      await redis.eval(RELEASE, 1, leaseKey(workgroupId), workerId);
    },
    async heartbeat() {
      return Number(await redis.eval(HEARTBEAT, 1, workersKey, workerId, leaseMs));
    },
    async leave() {
      await redis.zrem(workersKey, workerId);
    },
    known: () => redis.smembers(knownKey),
    async forget(workgroupId) {
      await redis.srem(knownKey, workgroupId);
    },
  };
}
