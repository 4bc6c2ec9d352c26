import type { UtcMs } from '../src/lib/time.ts';
import type { OwnedShardDescription, OwnedShardState, OwnedShards } from './owned-shards.ts';
import type { QueueBackend } from './queue-backend.ts';
import type { StageHealth } from './stage-health.ts';

export interface WorkerHealth {
  workerId: string;
  backend: 'pglite' | 'redis';
  /** The worker makes progress: it renews its leases, and its stages run. */
  live: boolean;
  /** Also, every stage succeeds, and every shard that this worker should own is open. */
  healthy: boolean;
  startedAtMs: UtcMs;
  /** It still opens the shards that had something to do at the start. */
  isStarting: boolean;
  /** When it last renewed its leases. */
  lastRoundAtMs: UtcMs;
  /** The queue's store does not answer. */
  isCutOff: boolean;
  shards: ShardHealth[];
}

/**
 * - `hibernated`: nobody has it open, because it has nothing to do. News, a job or a request opens it
 * - `queued`: it is opened as soon as there is room. A request opens it at once
 */
export type ShardState = OwnedShardState | 'hibernated' | 'queued';

export interface ShardHealth extends Omit<OwnedShardDescription, 'state'> {
  workgroupId: string;
  state: ShardState;
  /** Empty if the shard is not owned here. */
  stages: StageHealth[];
}

/** @param times by the clock of the worker. The result has instants of the clock of the machine */
export function describeWorker(
  worker: {
    backend: Pick<QueueBackend, 'workerId' | 'kind' | 'leases'>;
    ownedShards: OwnedShards;
    workgroupIds: readonly string[];
    /** True if another worker has the shard open, or if the shard needs one. */
    isAwakeElsewhere: (workgroupId: string) => boolean;
    isQueued: (workgroupId: string) => boolean;
    isStarting: boolean;
  },
  times: { nowMs: UtcMs; wallLeadMs: number; startedAtMs: UtcMs; lastRoundAtMs: UtcMs },
): WorkerHealth {
  const { backend, ownedShards, workgroupIds, isAwakeElsewhere, isQueued } = worker;
  const { nowMs, wallLeadMs, startedAtMs, lastRoundAtMs } = times;
  const atWall = (ms: UtcMs) => Math.round(ms + wallLeadMs);
  const stagesOf = new Map(ownedShards.openLoops().map((shard) => [shard.workgroupId, shard.health()]));
  const stateOf = (workgroupId: string, state: OwnedShardState): ShardState => {
    if (state !== 'elsewhere') return state;
    if (isQueued(workgroupId)) return 'queued';
    return isAwakeElsewhere(workgroupId) ? 'elsewhere' : 'hibernated';
  };
  const shards = workgroupIds.map((workgroupId) => {
    const { state, error, failingSinceMs } = ownedShards.describe(workgroupId);
    return {
      workgroupId,
      state: stateOf(workgroupId, state),
      error,
      failingSinceMs: failingSinceMs === null ? null : atWall(failingSinceMs),
      stages: (stagesOf.get(workgroupId) ?? []).map((stage) => moveInstants(stage, wallLeadMs)),
    };
  });
  const states = shards.flatMap(({ stages }) => stages.map(({ state }) => state));
  const isCutOff = nowMs - lastRoundAtMs >= 3 * backend.leases.leaseMs;
  const live = !isCutOff && !states.some((state) => state === 'stuck' || state === 'unscheduled');
  return {
    workerId: backend.workerId,
    backend: backend.kind,
    live,
    healthy:
      live && states.every((state) => state === 'ok') && shards.every(({ state }) => state !== 'waiting'),
    startedAtMs: atWall(startedAtMs),
    isStarting: worker.isStarting,
    lastRoundAtMs: atWall(lastRoundAtMs),
    isCutOff,
    shards,
  };
}

function moveInstants(stage: StageHealth, byMs: number): StageHealth {
  const move = (ms: UtcMs | null) => (ms === null ? null : Math.round(ms + byMs));
  return {
    ...stage,
    openedAtMs: Math.round(stage.openedAtMs + byMs),
    lastTickAtMs: move(stage.lastTickAtMs),
    runningSinceMs: move(stage.runningSinceMs),
    lastSuccessAtMs: move(stage.lastSuccessAtMs),
    failingSinceMs: move(stage.failingSinceMs),
    lastError: stage.lastError && { ...stage.lastError, atMs: Math.round(stage.lastError.atMs + byMs) },
    retryAtMs: move(stage.retryAtMs),
  };
}
