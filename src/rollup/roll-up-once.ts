import type { DuckDBConnection } from '@duckdb/node-api';
import type { WorkgroupConfig } from '../config/config.ts';
import type { Logger } from '../lib/logger.ts';
import { type Clock, localDateOf } from '../lib/time.ts';
import type { Shard } from '../warehouse/shard.ts';
import { bindSettings } from './bind-settings.ts';
import { computeTouched } from './compute-touched.ts';
import { deletePending, loadPending, PENDING_READINGS_MAX } from './defer-devices.ts';
import { mayComeFromData } from './find-failing-series.ts';
import { CALL_INTERVALS_MAX } from './find-scope.ts';
import { planWork, type Work } from './plan-work.ts';
import { hasFewTemporaryRows, type RollUpContext, runStatement } from './rollup-context.ts';
import { releaseRetried, type SeriesKey } from './set-aside.ts';
import { type NewReadingsCount, storeNewReadings } from './store-new-readings.ts';
import { updateDays } from './update-days.ts';

export interface RollUpOptions {
  workgroup: WorkgroupConfig;
  clock: Clock;
  /** A day is final when this much time has passed since its end. */
  closeAfterMs: number;
  /**
   * The maximum number of messages of one call (default: see `messagesMaxOf`). It bounds the transaction; the
   * caller calls again while the result has `more`.
   */
  messagesMax?: number;
  /**
   * The maximum number of readings that one call computes again because learnt limits have changed. It
   * computes at least one device.
   */
  pendingReadingsMax?: number;
  /**
   * The maximum number of intervals of silences that one call computes. It computes at least one source.
   * Default: `CALL_INTERVALS_MAX`.
   */
  intervalsMax?: number;
  /**
   * Computes a full index for every register, also for one that only grows. For tests that compare both ways.
   */
  indexAll?: boolean;
  /** Also runs statements that have nothing to do. For tests that compare both ways. */
  runAll?: boolean;
  logger: Logger;
}

export interface RollUpResult {
  /** The last batch that was rolled up. */
  batchId: bigint;
  /** Number of new readings. */
  readings: number;
  /** Number of rejected readings. */
  rejected: number;
  /** Number of changed days of a device and source. */
  days: number;
  /** True if batches are left for another call, or devices wait. */
  more: boolean;
}

/** How one attempt of a roll-up differs from others. */
export interface Attempt {
  /** The maximum number of messages, but at least one batch. */
  messagesMax: number;
  /** True if new batches come before waiting devices. */
  prefersNew: boolean;
  /** The days before this one are final already; undefined: unknown. */
  closedBefore?: string | undefined;
  /** Makes the attempt a trial, which is rolled back. It chooses the touched series that the trial omits. */
  omitSeries?: (touched: readonly SeriesKey[]) => readonly SeriesKey[];
}

/** The end of an attempt. */
type AttemptOutcome =
  | { kind: 'done'; result: RollUpResult; workKind: Work['kind'] }
  /** Something failed that may come from the data. Nothing has changed. `batches`: how many were read. */
  | { kind: 'failed'; error: unknown; batches: number };

/** Ends the transaction of a trial, so that it is rolled back. */
class TrialEnded extends Error {
  readonly outcome: AttemptOutcome;

  constructor(outcome: AttemptOutcome) {
    super('the trial is rolled back');
    this.outcome = outcome;
  }
}

/** Runs all chapters once, in one transaction. */
export async function rollUpOnce(
  shard: Shard,
  options: RollUpOptions,
  attempt: Attempt,
): Promise<AttemptOutcome> {
  let batches = 0;
  const onPlan = (work: Work) => {
    batches = work.batches;
  };
  try {
    return await shard.transaction(
      async (connection) => {
        const outcome = await runChapters(shard, connection, options, { ...attempt, onPlan });
        if (attempt.omitSeries) throw new TrialEnded(outcome);
        return outcome;
      },
      { isQuiet: true, keep: hasFewTemporaryRows },
    );
  } catch (error) {
    if (error instanceof TrialEnded) return error.outcome;
    if (!mayComeFromData(error)) throw error;
    return { kind: 'failed', error, batches };
  }
}

/** From this many messages on, a call uses all threads of DuckDB. */
const MANY_MESSAGES = 20_000;

async function runChapters(
  shard: Shard,
  connection: DuckDBConnection,
  options: RollUpOptions,
  attempt: Attempt & { onPlan: (work: Work) => void },
): Promise<AttemptOutcome> {
  const { workgroup, closeAfterMs, runAll = false } = options;
  const settingsContext: RollUpContext = {
    connection,
    timezone: workgroup.timezone,
    closeAfterMs,
    runAll,
    isAlone: workgroup.energyStreams.length === 1 && !runAll,
  };
  const { next, restatement } = await bindSettings(settingsContext, workgroup, attempt.messagesMax);
  const work = planWork(next, restatement, attempt);
  attempt.onPlan(work);
  const { kind, batchId, newestId, messages, hasWaiting, hasSetAside } = work;
  const context: RollUpContext = {
    ...settingsContext,
    hasDeferred: kind === 'new' && hasWaiting,
    omitsSeries: hasSetAside || attempt.omitSeries !== undefined,
  };
  const retries = hasSetAside && (kind === 'all' || !hasWaiting);
  const isRetry = retries && (await releaseRetried(context)) > 0;
  const isIdle = kind === 'new' && messages === 0 && !isRetry;
  // Changed settings and waiting devices touch readings of any time.
  const isMuch = kind !== 'new' || isRetry || messages >= MANY_MESSAGES;
  const compute = () => computeChanges(context, options, attempt, { ...work, isRetry });
  const changed = isIdle ? nothingChanged : await (isMuch ? shard.withAllThreads(compute) : compute());
  await storeProgress(context, work, runAll);
  await closeDays(context, options, { isWaiting: changed.isWaiting, closedBefore: attempt.closedBefore });
  const { readings, rejected, days, isWaiting } = changed;
  const more = batchId < newestId || isWaiting;
  return { kind: 'done', result: { batchId, readings, rejected, days, more }, workKind: kind };
}

/** The changes of a call. */
interface Changes extends NewReadingsCount {
  /** Number of changed days of a device and source. */
  days: number;
  /** True if devices still wait. */
  isWaiting: boolean;
}

const nothingChanged: Changes = { readings: 0, rejected: 0, days: 0, isWaiting: false };

/**
 * Makes readings of the new messages, and computes the intervals and days that they, waiting devices and
 * changed rules touch.
 * @param work.isRetry true if series that were set aside are computed again
 */
async function computeChanges(
  context: RollUpContext,
  options: RollUpOptions,
  attempt: Attempt,
  work: Work & { isRetry: boolean },
): Promise<Changes> {
  const { workgroup, closeAfterMs, indexAll = false } = options;
  const { kind, restatement, isRetry, afterBatchId, batchId, arrivedAfterId, hasCorrections } = work;
  const nowMs = BigInt(options.clock.now());
  const readingsMax = options.pendingReadingsMax ?? PENDING_READINGS_MAX;
  let stored: NewReadingsCount = { readings: 0, rejected: 0 };
  if (kind === 'waiting') await loadPending(context, readingsMax);
  else stored = await storeNewReadings(context, { ...work, nowMs, rejudges: kind === 'all' || isRetry });
  const { hasSeveralSeries } = await computeTouched(context, work, {
    workgroup,
    indexAll,
    omitSeries: attempt.omitSeries,
    pendingBudget: { readingsMax, completeId: afterBatchId, batchId },
    intervalsMax: BigInt(options.intervalsMax ?? CALL_INTERVALS_MAX),
  });
  const hasDeclaredSources = workgroup.devices.some(({ sources = [] }) => sources.length > 0);
  const days = await updateDays(context, {
    closeAfterMs,
    restatement,
    isRetry,
    nowMs,
    batchId,
    arrivedAfterId,
    hasCorrections,
    hasDeclaredSources,
    hasSeveralSeries,
  });
  if (context.hasDeferred)
    await runStatement(context, 'store_deferred_arrivals', {
      complete_id: afterBatchId,
      taken_id: arrivedAfterId,
    });
  return { ...stored, days, isWaiting: await endWaiting(context, work) };
}

/** Deletes the waiting work that this call has done. @returns true if devices still wait */
async function endWaiting(context: RollUpContext, { kind, hasWaiting }: Work): Promise<boolean> {
  if (kind === 'new' || !hasWaiting) return context.hasDeferred === true;
  return deletePending(context, { all: kind === 'all' });
}

/** Stores which batches are rolled up, and deletes the messages of the lake that every stream has read. */
async function storeProgress(
  context: RollUpContext,
  { afterBatchId, batchId, hasArchived }: Work,
  runAll: boolean,
): Promise<void> {
  if (afterBatchId < batchId || runAll) await runStatement(context, 'advance_streams', { batch_id: batchId });
  if (hasArchived || runAll) await runStatement(context, 'delete_archived');
}

/**
 * Makes days final that are over. While devices wait, no day becomes final, because waiting days still have
 * their old energy.
 */
async function closeDays(
  context: RollUpContext,
  options: RollUpOptions,
  { isWaiting, closedBefore }: { isWaiting: boolean; closedBefore: string | undefined },
): Promise<void> {
  const openDay = firstOpenDay(options);
  if (isWaiting || (openDay === closedBefore && !options.runAll)) return;
  await runStatement(context, 'mark_closing_days', { before: openDay });
  await runStatement(context, 'close_days', { before: openDay });
}

/** The first local day that is not final: its end is less than `closeAfterMs` ago, or in the future. */
export function firstOpenDay({ clock, closeAfterMs, workgroup }: RollUpOptions): string {
  return localDateOf(clock.now() - closeAfterMs, workgroup.timezone);
}
