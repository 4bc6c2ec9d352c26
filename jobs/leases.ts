import type { Redis } from 'ioredis';
import { SECOND_MS } from '../src/lib/time.ts';
import { leaseKey, workersKey } from '../src/redis/redis-keys.ts';
import type { HandoverMessage } from './handover-message.ts';

/**
 * Leases decide which worker owns which open shard. The epoch of the warehouse guarantees that no other
 * worker writes. Calls fail at once if the store is not reachable. A workgroup is awake from its first lease
 * until it hibernates: an awake workgroup without a lease needs a worker.
 */
export interface Leases {
  /** The duration of a lease without renewal. */
  readonly leaseMs: number;
  /** False if no other worker exists that could take a lease. */
  readonly canRunOut: boolean;
  /**
   * Takes a free lease, or renews an own one. The workgroup is awake then.
   * @returns true if this worker has the lease now
   */
  acquireOrRenew(workgroupId: string): Promise<boolean>;
  /**
   * Renews own leases in one call, and takes leases that have run out.
   * @returns the workgroups that another worker has
   */
  renew(workgroupIds: readonly string[]): Promise<string[]>;
  /**
   * Notes that this worker will take a workgroup over when its owner releases it. It is noted for a short
   * time only.
   * @returns false if another worker is noted
   */
  succeed(workgroupId: string): Promise<boolean>;
  /**
   * Releases an own lease. If the workgroup stays awake, the worker that is noted as its successor gets the
   * lease at once, and a message about it. If no successor is noted, the other workers get the news of the
   * release.
   */
  release(workgroupId: string, state: 'awake' | 'hibernated'): Promise<void>;
  /** The id of the worker that has the lease. */
  ownerOf(workgroupId: string): Promise<string | undefined>;
  /** Reports that this worker is alive, and reads the leases of all workers. */
  survey(): Promise<Survey>;
  /** Removes this worker from the living ones. */
  leave(): Promise<void>;
  /** A workgroup that is no longer configured does not need a worker. */
  forget(workgroupId: string): Promise<void>;
}

export interface Survey {
  /** Living workers, including this one. */
  workers: number;
  /** The workgroups that are open, or that need a worker. */
  awake: string[];
  /** Of these, the workgroups without a lease. */
  free: string[];
}

/** A worker without renewal counts as dead after this time, and another worker takes its shards. */
export const LEASE_MS = 10 * SECOND_MS;

/** Leases for the single process with an embedded queue. */
export function createLocalLeases(leaseMs: number, workerId = 'local'): Leases {
  const awake = new Set<string>();
  const held = new Set<string>();
  return {
    leaseMs,
    canRunOut: false,
    async acquireOrRenew(workgroupId) {
      held.add(workgroupId);
      awake.add(workgroupId);
      return true;
    },
    async renew() {
      return [];
    },
    async succeed() {
      return false;
    },
    async release(workgroupId, state) {
      held.delete(workgroupId);
      if (state === 'hibernated') awake.delete(workgroupId);
    },
    async ownerOf(workgroupId) {
      return held.has(workgroupId) ? workerId : undefined;
    },
    async survey() {
      return { workers: 1, awake: [...awake], free: [...awake].filter((id) => !held.has(id)) };
    },
    async leave() {},
    async forget(workgroupId) {
      awake.delete(workgroupId);
    },
  };
}

/** The channel with the ids of workers that have released a workgroup that needs a worker. */
export function releasedChannel(prefix: string): string {
  return `${prefix}:released`;
}

/** The channel of one worker. */
export function workerChannel(prefix: string, workerId: string): string {
  return `${prefix}:worker:${workerId}`;
}

/** A successor is noted for this time: longer than a worker takes to stop. */
const SUCCESSOR_MS = 30 * SECOND_MS;

/**
 * Arguments: start of the keys of leases, worker, milliseconds, workgroups. Answers with 1 for each lease
 * that the worker has now.
 */
const HOLD_SHARDS = `
  local answer = {}
  for i = 4, #ARGV do
    local key = ARGV[1] .. ARGV[i]
    local owner = redis.call('GET', key)
    if owner == ARGV[2] then
      redis.call('PEXPIRE', key, ARGV[3])
    elseif not owner then
      redis.call('SET', key, ARGV[2], 'PX', ARGV[3])
    end
    if not owner or owner == ARGV[2] then
      redis.call('SADD', KEYS[1], ARGV[i])
      answer[#answer + 1] = 1
    else
      answer[#answer + 1] = 0
    end
  end
  return answer`;

/**
 * Arguments: worker, state, workgroup, channel, prefix of the channels of workers, message, milliseconds. A
 * successor that has ended does not receive the message. Then the other workers get the news of the release.
 */
const RELEASE_SHARD = `
  if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
  redis.call('DEL', KEYS[1])
  if ARGV[2] == 'hibernated' then
    redis.call('SREM', KEYS[2], ARGV[3])
    return 1
  end
  local successor = redis.call('GET', KEYS[3])
  redis.call('DEL', KEYS[3])
  if successor and redis.call('PUBLISH', ARGV[5] .. successor, ARGV[6]) > 0 then
    redis.call('SET', KEYS[1], successor, 'PX', ARGV[7])
  else
    redis.call('PUBLISH', ARGV[4], ARGV[1])
  end
  return 1`;

/** Ages use the clock of the store, so workers need not have the same time. */
const SURVEY = `
  local time = redis.call('TIME')
  local now = time[1] * 1000 + math.floor(time[2] / 1000)
  local isNew = redis.call('ZADD', KEYS[1], now, ARGV[1]) == 1
  if isNew then redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - ARGV[2]) end
  local awake = redis.call('SMEMBERS', KEYS[2])
  local free = {}
  for _, id in ipairs(awake) do
    if redis.call('EXISTS', ARGV[3] .. id) == 0 then free[#free + 1] = id end
  end
  return {redis.call('ZCOUNT', KEYS[1], '(' .. (now - ARGV[2]), '+inf'), awake, free}`;

/**
 * Leases in Redis, for several workers.
 * @param workerId random, so that a restarted worker is another worker
 */
export function createRedisLeases(
  redis: Redis,
  options: { workerId: string; leaseMs: number; prefix: string },
): Leases {
  const { workerId, leaseMs, prefix } = options;
  const successorKey = (workgroupId: string) => `${prefix}:successor:${workgroupId}`;
  const awakeKey = `${prefix}:awake`;
  const acquireOrRenew = async (workgroupIds: readonly string[]) =>
    (await redis.eval(
      HOLD_SHARDS,
      1,
      awakeKey,
      leaseKey(prefix, ''),
      workerId,
      leaseMs,
      ...workgroupIds,
    )) as number[];
  return {
    leaseMs,
    canRunOut: true,
    async acquireOrRenew(workgroupId) {
      return (await acquireOrRenew([workgroupId]))[0] === 1;
    },
    async renew(workgroupIds) {
      if (workgroupIds.length === 0) return [];
      const held = await acquireOrRenew(workgroupIds);
      return workgroupIds.filter((_, index) => held[index] !== 1);
    },
    async succeed(workgroupId) {
      const key = successorKey(workgroupId);
      return (await redis.set(key, workerId, 'PX', SUCCESSOR_MS, 'NX')) === 'OK';
    },
    async release(workgroupId, state) {
      const keys = [leaseKey(prefix, workgroupId), awakeKey, successorKey(workgroupId)];
      const channels = [releasedChannel(prefix), workerChannel(prefix, '')];
      const handedOver = JSON.stringify({ kind: 'handed-over', workgroupId } satisfies HandoverMessage);
      const values = [workerId, state, workgroupId, ...channels, handedOver, leaseMs];
      await redis.eval(RELEASE_SHARD, keys.length, ...keys, ...values);
    },
    async ownerOf(workgroupId) {
      return (await redis.get(leaseKey(prefix, workgroupId))) ?? undefined;
    },
    async survey() {
      const keys = [workersKey(prefix), awakeKey];
      const answer = await redis.eval(SURVEY, keys.length, ...keys, workerId, leaseMs, leaseKey(prefix, ''));
      const [workers, awake, free] = answer as [number, string[], string[]];
      return { workers, awake, free };
    },
    async leave() {
      await redis.zrem(workersKey(prefix), workerId);
    },
    async forget(workgroupId) {
      await redis.srem(awakeKey, workgroupId);
    },
  };
}
