import type { UtcMs } from '../src/lib/time.ts';
import type { OwnedShardState, OwnedShards } from './owned-shards.ts';
import type { QueueBackend } from './queue-backend.ts';
import type { StageHealth } from './stage-health.ts';

export interface WorkerHealth {
  workerId: string;
  backend: 'pglite' | 'redis';
  /** The worker moves: it looks after its shards, and no stage of theirs is stuck or without ticks. */
  live: boolean;
  /** And all goes well: every stage succeeds, and every shard that should be owned here is. */
  healthy: boolean;
  startedAtMs: UtcMs;
  /** When it last looked after its leases. */
  lastRoundAtMs: UtcMs;
  shards: ShardHealth[];
}

export interface ShardHealth {
  workgroupId: string;
  state: OwnedShardState;
  /** Why the shard could not be opened or was lost. */
  error: string | null;
  /** Empty where the shard is not owned here. */
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
  const live =
    nowMs - lastRoundAtMs < 3 * backend.leases.leaseMs &&
    !states.some((state) => state === 'stuck' || state === 'unscheduled');
  return {
    workerId: backend.workerId,
    backend: backend.kind,
    live,
    healthy:
      live && states.every((state) => state === 'ok') && shards.every(({ state }) => state !== 'waiting'),
    startedAtMs,
    lastRoundAtMs,
    shards,
  };
}
