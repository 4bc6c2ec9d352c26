import type { UtcMs } from '../src/lib/time.ts';
import type { OwnedShardDescription, OwnedShards } from './owned-shards.ts';
import type { QueueBackend } from './queue-backend.ts';
import type { StageHealth } from './stage-health.ts';

export interface WorkerHealth {
  workerId: string;
  backend: 'pglite' | 'redis';
  /** The worker makes progress: it renews its leases, and no stage is stuck or without ticks. */
  live: boolean;
  /** Also, every stage succeeds, and every shard that this worker should own is open. */
  healthy: boolean;
  startedAtMs: UtcMs;
  /** When it last renewed its leases. */
  lastRoundAtMs: UtcMs;
  /** The queue's store does not answer. */
  isCutOff: boolean;
  shards: ShardHealth[];
}

export interface ShardHealth extends OwnedShardDescription {
  workgroupId: string;
  /** Empty if the shard is not owned here. */
  stages: StageHealth[];
}

export function describeWorker(
  worker: { backend: QueueBackend; ownedShards: OwnedShards; workgroupIds: readonly string[] },
  times: { nowMs: UtcMs; startedAtMs: UtcMs; lastRoundAtMs: UtcMs },
): WorkerHealth {
  const { backend, ownedShards, workgroupIds } = worker;
  const { nowMs, startedAtMs, lastRoundAtMs } = times;
  const stagesOf = new Map(ownedShards.owned().map((shard) => [shard.workgroupId, shard.health()]));
  const shards = workgroupIds.map((workgroupId) => ({
    workgroupId,
    ...ownedShards.describe(workgroupId),
    stages: stagesOf.get(workgroupId) ?? [],
  }));
  const states = shards.flatMap(({ stages }) => stages.map(({ state }) => state));
  const isCutOff = nowMs - lastRoundAtMs >= 3 * backend.leases.leaseMs;
  const live = !isCutOff && !states.some((state) => state === 'stuck' || state === 'unscheduled');
  return {
    workerId: backend.workerId,
    backend: backend.kind,
    live,
    healthy:
      live && states.every((state) => state === 'ok') && shards.every(({ state }) => state !== 'waiting'),
    startedAtMs,
    lastRoundAtMs,
    isCutOff,
    shards,
  };
}
