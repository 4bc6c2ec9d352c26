import { formatInstant, MINUTE_MS, type UtcMs } from '../src/lib/time.ts';
import type { Trouble } from '../src/pipeline/trouble.ts';
import type { StageHealth } from './stage-health.ts';
import { stageTable } from './stage-table.ts';
import type { ShardHealth, WorkerHealth } from './worker-health.ts';

/** A stage that fails for this long, and at least twice, has failed. Temporary errors end sooner. */
const FAILED_MS = 3 * MINUTE_MS;
/** A due stage is late after this time, or after ten of its periods if they are longer. */
const LATE_MS = 5 * MINUTE_MS;
/**
 * The same if another stage of its lane is running, because the first roll-up of several years takes long.
 */
const LATE_BEHIND_MS = 30 * MINUTE_MS;

/** The problems of a worker with its workgroups. Empty if there are none, or only short ones. */
export function troublesOf(health: WorkerHealth, nowMs: UtcMs): Trouble[] {
  const { isCutOff, lastRoundAtMs, backend } = health;
  const cutOff: Trouble = {
    stage: 'queue',
    state: 'unreachable',
    sinceMs: lastRoundAtMs,
    message: `it has not answered since ${formatInstant(lastRoundAtMs)}; ${queueAdvice[backend]}`,
  };
  return [...(isCutOff ? [cutOff] : []), ...health.shards.flatMap((shard) => shardTroubles(shard, nowMs))];
}

const queueAdvice: Readonly<Record<WorkerHealth['backend'], string>> = {
  pglite: 'if this lasts, check the disk of dataDir, then restart this process',
  redis: 'check that the Redis of queue.redisUrl is running and reachable; the work then continues by itself',
};

function shardTroubles(shard: ShardHealth, nowMs: UtcMs): Trouble[] {
  const { workgroupId, state, error, failingSinceMs, stages } = shard;
  if (state !== 'owned') {
    if (failingSinceMs === null) return [];
    const message = `its data cannot be opened: ${error}. The worker tries again at least once a minute`;
    return [{ workgroupId, stage: 'open', state: 'not-open', sinceMs: failingSinceMs, message }];
  }
  return stages.flatMap((stage) => {
    const trouble = stageTrouble(stage, stages, nowMs);
    return trouble ? [{ workgroupId, stage: stage.stage, ...trouble }] : [];
  });
}

function stageTrouble(
  health: StageHealth,
  stages: readonly StageHealth[],
  nowMs: UtcMs,
): Omit<Trouble, 'workgroupId' | 'stage'> | undefined {
  const { openedAtMs, maxPeriodMs, runningSinceMs, lastTickAtMs, lastSuccessAtMs, lastError } = health;
  const troubleOf = (state: Trouble['state'], sinceMs: UtcMs, message: string) => ({
    state,
    sinceMs,
    message,
  });
  if (health.state === 'stuck' && runningSinceMs !== null) {
    const since = formatInstant(runningSinceMs);
    return troubleOf(
      'stuck',
      runningSinceMs,
      `it has been running since ${since} and did not end after it was aborted; restart this process`,
    );
  }
  const succeededAtMs = lastSuccessAtMs ?? openedAtMs;
  if (health.lateAfterMs !== undefined && nowMs - succeededAtMs >= health.lateAfterMs)
    return troubleOf(
      'late',
      succeededAtMs,
      `it last succeeded at ${formatInstant(succeededAtMs)}, which is half of stream.retention ago. Soon only this machine has the messages since then. Make the bucket reachable${lastError ? `; its last error: ${lastError.message}` : ''}`,
    );
  const { failingSinceMs, failures } = health;
  if (failingSinceMs !== null && failures > 1 && nowMs - failingSinceMs >= FAILED_MS)
    return troubleOf(
      'failing',
      failingSinceMs,
      `it has failed ${failures} times since ${formatInstant(failingSinceMs)}: ${lastError?.message}`,
    );
  if (health.state === 'unscheduled') {
    const sinceMs = lastTickAtMs ?? openedAtMs;
    const ticks =
      lastTickAtMs === null ? 'it was never called' : `it was last called at ${formatInstant(lastTickAtMs)}`;
    return troubleOf(
      'unscheduled',
      sinceMs,
      `${ticks}, and it is due every ${seconds(maxPeriodMs)}: this process is overloaded or stopped; restart it if this lasts`,
    );
  }
  const limitMs = isBehind(health, stages) ? LATE_BEHIND_MS : LATE_MS;
  if (runningSinceMs === null && nowMs - succeededAtMs >= Math.max(limitMs, 10 * maxPeriodMs)) {
    const last =
      lastSuccessAtMs === null
        ? 'it has never succeeded'
        : `it last succeeded at ${formatInstant(lastSuccessAtMs)}`;
    const because = lastError ? `; its last error: ${lastError.message}` : '; see the log for the reason';
    return troubleOf('late', succeededAtMs, `${last}, and it is due every ${seconds(maxPeriodMs)}${because}`);
  }
  return undefined;
}

/** True if another stage of its lane is running, so that it has to wait. */
export function isBehind({ stage }: StageHealth, stages: readonly StageHealth[]): boolean {
  return stages.some(
    (other) =>
      other.stage !== stage &&
      other.runningSinceMs !== null &&
      stageTable[other.stage].lane === stageTable[stage].lane,
  );
}

function seconds(ms: number): string {
  return `${Math.max(1, Math.round(ms / 1000))} s`;
}
