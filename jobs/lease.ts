import type { Redis } from 'ioredis';

/**
 * Which worker owns which shard. A lease says who should write; that nobody else can is what the warehouse's epoch says.
 * Every call fails rather than waits where the store cannot be reached.
 */
export interface Leases {
  /** How long a lease lasts without being held again. */
  readonly leaseMs: number;
  /** Takes a free lease or prolongs one's own. @returns whether this worker holds it now */
  hold(workgroupId: string): Promise<boolean>;
  /** Gives the lease back if it is one's own. */
  release(workgroupId: string): Promise<void>;
  /** Says that this worker lives. @returns how many do, itself included */
  heartbeat(): Promise<number>;
  /** Takes this worker off the list of the living. */
  leave(): Promise<void>;
  /** Workgroups that ever had a lease here, those that are no longer configured included. */
  known(): Promise<string[]>;
  forget(workgroupId: string): Promise<void>;
}

/** Leases of the one process that an embedded queue serves. */
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

/** Everybody's age is told by the store's clock, so that workers need not agree on the time. */
const HEARTBEAT = `
  local time = redis.call('TIME')
  local now = time[1] * 1000 + math.floor(time[2] / 1000)
  redis.call('ZADD', KEYS[1], now, ARGV[1])
  redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - ARGV[2])
  return redis.call('ZCARD', KEYS[1])`;

/**
 * Leases in Redis, for several workers.
 * @param workerId random, so that a worker which starts again is another one
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
