import { isRetryable, retryAfterMsOf } from '../src/lib/errors.ts';
import { growingWaitMs } from '../src/lib/growing-wait.ts';
import { MINUTE_MS, SECOND_MS, type SteadyClock, type UtcMs } from '../src/lib/time.ts';
import { failureWords } from '../src/pipeline/failure-words.ts';
import type { StageName, StagePace } from './stages.ts';

/**
 * The state of one stage of one workgroup. Instants are null if the event has not happened since the shard
 * was opened.
 */
export interface StageHealth {
  stage: StageName;
  /**
   * - `ok`: it succeeds, or is not due yet
   * - `failing`: its last run failed; it is retried at `retryAtMs`
   * - `late`: no success for ten periods, and at least a minute
   * - `stuck`: a run has not ended after its time limit
   * - `unscheduled`: it was not called for five periods, and at least 15 s, and no call is under way
   */
  state: 'ok' | 'failing' | 'late' | 'stuck' | 'unscheduled';
  /** The stage runs this often without being asked. */
  maxPeriodMs: number;
  /** See `StagePace`. */
  lateAfterMs?: number;
  /** When the shard was opened. The stage was due from then on. */
  openedAtMs: UtcMs;
  lastTickAtMs: UtcMs | null;
  runningSinceMs: UtcMs | null;
  lastSuccessAtMs: UtcMs | null;
  lastDurationMs: number | null;
  /** Failed runs since the last success. */
  failures: number;
  /** When the first of these runs failed. */
  failingSinceMs: UtcMs | null;
  lastError: { atMs: UtcMs; code: string; message: string; retryable: boolean } | null;
  retryAtMs: UtcMs | null;
}

/** Records the runs of the stages of one shard. A worker counts as alive by progress, not by presence. */
export interface StageProgress {
  /**
   * Notes a call of the stage. It can wait for another stage of its lane before it runs.
   * @returns to be called when the call ends
   */
  tick(stage: StageName): () => void;
  /**
   * The time (ms) for which a failed stage still has to wait before its retry. It doubles with each failure,
   * and is at least what a server has asked for.
   */
  backOffMs(stage: StageName): number;
  noteStarted(stage: StageName): void;
  noteSucceeded(stage: StageName): void;
  noteFailed(stage: StageName, error: unknown): void;
  /** The run was aborted, so its result is unknown. */
  noteInterrupted(stage: StageName): void;
  health(): StageHealth[];
}

/** The wait after the first failure. Each further failure doubles it. */
const RETRY_MS_MIN = SECOND_MS;
/** The longest wait of a failed stage. A longer `Retry-After` of a server is cut to this time. */
const RETRY_MS_MAX = MINUTE_MS;
const STUCK_GRACE_MS = 30 * SECOND_MS;

/** @param timeLimitMs the time after which a run of the stage is aborted */
export function createStageProgress(
  paces: readonly Omit<StagePace, 'minPeriodMs'>[],
  options: { clock: SteadyClock; timeLimitMs: (stage: StageName) => number },
): StageProgress {
  const { clock, timeLimitMs } = options;
  const openedAtMs = clock.now();
  const callsUnderWay = new Map<StageName, number>();
  const count = (stage: StageName, by: 1 | -1) =>
    void callsUnderWay.set(stage, (callsUnderWay.get(stage) ?? 0) + by);
  const records = new Map(paces.map((row) => [row.stage, emptyRecord(row, openedAtMs)]));
  const at = (stage: StageName) => {
    const record = records.get(stage);
    if (!record) throw new Error(`${stage} is not a stage of this shard`);
    return record;
  };
  const end = (record: StageRecord) => {
    if (record.runningSinceMs !== null) record.lastDurationMs = clock.now() - record.runningSinceMs;
    record.runningSinceMs = null;
  };
  return {
    tick: (stage) => {
      at(stage).lastTickAtMs = clock.now();
      count(stage, 1);
      return () => count(stage, -1);
    },
    backOffMs: (stage) => Math.max(0, (at(stage).retryAtMs ?? 0) - clock.now()),
    noteStarted: (stage) => {
      at(stage).runningSinceMs = clock.now();
    },
    noteSucceeded: (stage) => {
      const record = at(stage);
      end(record);
      Object.assign(record, {
        lastSuccessAtMs: clock.now(),
        failures: 0,
        failingSinceMs: null,
        retryAtMs: null,
      });
    },
    noteFailed: (stage, error) => {
      const record = at(stage);
      const atMs = clock.now();
      end(record);
      record.failures += 1;
      record.failingSinceMs ??= atMs;
      const waitMs = Math.max(growingWaitMs(record.failures, RETRY_MS_MIN), retryAfterMsOf(error) ?? 0);
      record.retryAtMs = atMs + Math.min(waitMs, RETRY_MS_MAX);
      record.lastError = { atMs, ...failureWords(error), retryable: isRetryable(error) };
    },
    noteInterrupted: (stage) => end(at(stage)),
    health: () =>
      [...records.values()].map((record) => ({
        ...record,
        state: stateOf(record, {
          nowMs: clock.now(),
          timeLimitMs: timeLimitMs(record.stage),
          isCalled: (callsUnderWay.get(record.stage) ?? 0) > 0,
        }),
      })),
  };
}

type StageRecord = Omit<StageHealth, 'state'>;

function emptyRecord(
  { stage, maxPeriodMs, lateAfterMs }: Omit<StagePace, 'minPeriodMs'>,
  openedAtMs: UtcMs,
): StageRecord {
  return {
    stage,
    maxPeriodMs,
    ...(lateAfterMs !== undefined && { lateAfterMs }),
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

function stateOf(
  record: StageRecord,
  now: { nowMs: UtcMs; timeLimitMs: number; isCalled: boolean },
): StageHealth['state'] {
  const { nowMs, timeLimitMs, isCalled } = now;
  const { maxPeriodMs, runningSinceMs, openedAtMs } = record;
  const age = (atMs: UtcMs | null) => nowMs - (atMs ?? openedAtMs);
  if (runningSinceMs !== null && age(runningSinceMs) > timeLimitMs + STUCK_GRACE_MS) return 'stuck';
  // A stage is not called again during a call, which can be a long run or the wait for one.
  if (!isCalled && age(record.lastTickAtMs) > Math.max(5 * maxPeriodMs, 15 * SECOND_MS)) return 'unscheduled';
  if (age(record.lastSuccessAtMs) > Math.max(10 * maxPeriodMs, MINUTE_MS) && runningSinceMs === null)
    return 'late';
  return record.failures > 0 ? 'failing' : 'ok';
}
