import { isRetryable } from '../src/lib/errors.ts';
import { type Clock, MINUTE_MS, SECOND_MS, type UtcMs } from '../src/lib/time.ts';
import { tellFailure } from '../src/pipeline/failure-words.ts';
import type { Schedule, StageName } from './stages.ts';

/** How one stage of one workgroup is doing; instants are null where it has not happened since the shard was opened. */
export interface StageHealth {
  stage: StageName;
  /**
   * - `ok`: it succeeds, or has had no time to yet
   * - `failing`: its last run failed; it is tried again at `retryAtMs`
   * - `late`: it has not succeeded for ten periods, whatever the reason
   * - `stuck`: a run has not ended although it was told to
   * - `unscheduled`: ticks have stopped coming
   */
  state: 'ok' | 'failing' | 'late' | 'stuck' | 'unscheduled';
  everyMs: number;
  /** When the shard was opened: from then on the stage was due. */
  openedAtMs: UtcMs;
  lastTickAtMs: UtcMs | null;
  runningSinceMs: UtcMs | null;
  lastSuccessAtMs: UtcMs | null;
  lastDurationMs: number | null;
  /** Runs that failed since the last success. */
  failures: number;
  /** When the first of them failed. */
  failingSinceMs: UtcMs | null;
  lastError: { atMs: UtcMs; code: string; message: string; retryable: boolean } | null;
  retryAtMs: UtcMs | null;
}

/** Remembers what the stages of one shard did: progress, not presence, is what tells that a worker lives. */
export interface Progress {
  tick(stage: StageName): void;
  /** Whether a stage that failed has to wait before it is tried again. */
  isBackingOff(stage: StageName): boolean;
  started(stage: StageName): void;
  succeeded(stage: StageName): void;
  failed(stage: StageName, error: unknown): void;
  /** The run ended without saying whether it worked: it was told to stop. */
  interrupted(stage: StageName): void;
  health(): StageHealth[];
}

const RETRY_MS_MAX = MINUTE_MS;
const STUCK_GRACE_MS = 30 * SECOND_MS;

/** @param timeLimitMs how long a run of the stage may take before it is told to stop */
export function createProgress(
  schedules: readonly Schedule[],
  options: { clock: Clock; timeLimitMs: (stage: StageName) => number },
): Progress {
  const { clock, timeLimitMs } = options;
  const openedAtMs = clock.now();
  const records = new Map(schedules.map((row) => [row.stage, emptyRecord(row, openedAtMs)]));
  const at = (stage: StageName) => {
    const record = records.get(stage);
    if (!record) throw new Error(`${stage} is not in the schedule`);
    return record;
  };
  const end = (record: Record) => {
    if (record.runningSinceMs !== null) record.lastDurationMs = clock.now() - record.runningSinceMs;
    record.runningSinceMs = null;
  };
  return {
    tick: (stage) => {
      at(stage).lastTickAtMs = clock.now();
    },
    isBackingOff: (stage) => clock.now() < (at(stage).retryAtMs ?? 0),
    started: (stage) => {
      at(stage).runningSinceMs = clock.now();
    },
    succeeded: (stage) => {
      const record = at(stage);
      end(record);
      Object.assign(record, {
        lastSuccessAtMs: clock.now(),
        failures: 0,
        failingSinceMs: null,
        retryAtMs: null,
      });
    },
    failed: (stage, error) => {
      const record = at(stage);
      const atMs = clock.now();
      end(record);
      record.failures += 1;
      record.failingSinceMs ??= atMs;
      record.retryAtMs = atMs + Math.min(RETRY_MS_MAX, SECOND_MS * 2 ** (record.failures - 1));
      record.lastError = { atMs, ...tellFailure(error), retryable: isRetryable(error) };
    },
    interrupted: (stage) => end(at(stage)),
    health: () =>
      [...records.values()].map((record) => ({
        ...record,
        state: stateOf(record, { nowMs: clock.now(), timeLimitMs: timeLimitMs(record.stage) }),
      })),
  };
}

type Record = Omit<StageHealth, 'state'>;

function emptyRecord({ stage, everyMs }: Schedule, openedAtMs: UtcMs): Record {
  return {
    stage,
    everyMs,
    openedAtMs,
    lastTickAtMs: null,
    runningSinceMs: null,
    lastSuccessAtMs: null,
    lastDurationMs: null,
    failures: 0,
    failingSinceMs: null,
    lastError: null,
    retryAtMs: null,
  };
}

function stateOf(record: Record, times: { nowMs: UtcMs; timeLimitMs: number }): StageHealth['state'] {
  const { nowMs, timeLimitMs } = times;
  const { everyMs, runningSinceMs, openedAtMs } = record;
  const age = (atMs: UtcMs | null) => nowMs - (atMs ?? openedAtMs);
  if (runningSinceMs !== null && age(runningSinceMs) > timeLimitMs + STUCK_GRACE_MS) return 'stuck';
  if (age(record.lastTickAtMs) > Math.max(5 * everyMs, 15 * SECOND_MS)) return 'unscheduled';
  if (age(record.lastSuccessAtMs) > Math.max(10 * everyMs, MINUTE_MS) && runningSinceMs === null)
    return 'late';
  return record.failures > 0 ? 'failing' : 'ok';
}
