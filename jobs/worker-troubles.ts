import { formatInstant, MINUTE_MS, type UtcMs } from '../src/lib/time.ts';
import type { Trouble } from '../src/pipeline/trouble.ts';
import { jobTable } from './job-table.ts';
import type { StageHealth } from './stage-health.ts';
import type { ShardHealth, WorkerHealth } from './worker-health.ts';

/** A stage that fails for so long, twice at least, has failed: what passes by itself has passed by then. */
export const FAILED_MS = 3 * MINUTE_MS;
/** So long, and ten periods of its own, a stage that is due may go without success. */
const LATE_MS = 5 * MINUTE_MS;
/** The same where another stage of its lane is at work: the first roll-up of years takes its time. */
const LATE_BEHIND_MS = 30 * MINUTE_MS;

/** What keeps the workgroups of a worker from being worked on; empty where all goes well, or goes wrong for moments only. */
export function troublesOf(health: WorkerHealth, nowMs: UtcMs): Trouble[] {
  const { isCutOff, lastRoundAtMs, backend } = health;
  const cutOff: Trouble = {
    stage: 'queue',
    state: 'unreachable',
    sinceMs: lastRoundAtMs,
    message: `it has not answered since ${formatInstant(lastRoundAtMs)}; ${queueAdvice[backend]}`,
  };
  return [...(isCutOff ? [cutOff] : []), ...health.shards.flatMap((shard) => ofShard(shard, backend, nowMs))];
}

const queueAdvice: Readonly<Record<WorkerHealth['backend'], string>> = {
  pglite: 'if that does not pass, look at the disk of dataDir, then restart this process',
  redis:
    'check that the Redis of queue.redisUrl is up and can be reached from here; the work then goes on by itself',
};

function ofShard(shard: ShardHealth, backend: WorkerHealth['backend'], nowMs: UtcMs): Trouble[] {
  const { workgroupId, state, error, failingSinceMs, stages } = shard;
  if (state !== 'owned') {
    if (failingSinceMs === null) return [];
    const message = `its data cannot be opened: ${error}. It is tried again by itself, at most a minute apart`;
    return [{ workgroupId, stage: 'open', state: 'not-open', sinceMs: failingSinceMs, message }];
  }
  return stages.flatMap((stage) => {
    const found = ofStage(stage, stages, backend, nowMs);
    return found ? [{ workgroupId, stage: stage.stage, ...found }] : [];
  });
}

function ofStage(
  health: StageHealth,
  stages: readonly StageHealth[],
  backend: WorkerHealth['backend'],
  nowMs: UtcMs,
): Omit<Trouble, 'workgroupId' | 'stage'> | undefined {
  const { openedAtMs, everyMs, runningSinceMs, lastTickAtMs, lastSuccessAtMs, lastError } = health;
  const told = (state: Trouble['state'], sinceMs: UtcMs, message: string) => ({ state, sinceMs, message });
  if (health.state === 'stuck' && runningSinceMs !== null) {
    const since = formatInstant(runningSinceMs);
    return told(
      'stuck',
      runningSinceMs,
      `it has been running since ${since} and did not end when it was told to; restart this process`,
    );
  }
  if (health.state === 'unscheduled') {
    const sinceMs = lastTickAtMs ?? openedAtMs;
    const ticks =
      lastTickAtMs === null ? 'it was never called' : `it was last called at ${formatInstant(lastTickAtMs)}`;
    return told(
      'unscheduled',
      sinceMs,
      `${ticks}, and it is due every ${seconds(everyMs)}: the queue does not tick; ${queueAdvice[backend]}`,
    );
  }
  const { failingSinceMs, failures } = health;
  if (failingSinceMs !== null && failures > 1 && nowMs - failingSinceMs >= FAILED_MS)
    return told(
      'failing',
      failingSinceMs,
      `it has been failing since ${formatInstant(failingSinceMs)}, ${failures} times: ${lastError?.message}`,
    );
  const sinceMs = lastSuccessAtMs ?? openedAtMs;
  const limitMs = isBehind(health, stages) ? LATE_BEHIND_MS : LATE_MS;
  if (runningSinceMs === null && nowMs - sinceMs >= Math.max(limitMs, 10 * everyMs)) {
    const last =
      lastSuccessAtMs === null
        ? 'it never ended well'
        : `it last ended well at ${formatInstant(lastSuccessAtMs)}`;
    const because = lastError
      ? `; its last error: ${lastError.message}`
      : '; look at the log for what holds it up';
    return told('late', sinceMs, `${last}, and it is due every ${seconds(everyMs)}${because}`);
  }
  return undefined;
}

function isBehind({ stage }: StageHealth, stages: readonly StageHealth[]): boolean {
  return stages.some(
    (other) =>
      other.stage !== stage &&
      other.runningSinceMs !== null &&
      jobTable[other.stage].lane === jobTable[stage].lane,
  );
}

function seconds(ms: number): string {
  return `${Math.max(1, Math.round(ms / 1000))} s`;
}
