import type { DuckDBConnection } from '@duckdb/node-api';
import type { WorkgroupConfig } from '../config/config.ts';
import type { Logger } from '../lib/logger.ts';
import { type Clock, localDateOf } from '../lib/time.ts';
import type { Shard } from '../warehouse/shard.ts';
import { bindSettings, type NextBatches } from './bind-settings.ts';
import type { Restatement } from './bind-streams.ts';
import { computeTouched } from './compute-touched.ts';
import { deletePending, loadPending, PENDING_READINGS_MAX } from './defer-devices.ts';
import { CALL_INTERVALS_MAX } from './find-scope.ts';
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
   * The most messages of one call (default: see `messagesMaxOf`). It bounds the transaction; the caller calls
   * again while the result has `more`.
   */
  messagesMax?: number;
  /**
   * The most readings that one call computes again because learnt limits have changed, but at least one
   * device.
   */
  pendingReadingsMax?: number;
  /**
   * The most intervals of silences that one call computes, but at least one source. Default:
   * `CALL_INTERVALS_MAX`.
   */
  intervalsMax?: number;
  /**
   * Computes a full index for every register, also for one that only grows. For tests that compare both ways.
   */
  indexAll?: boolean;
  /** Runs every statement, also one that has nothing to do. For tests that compare both ways. */
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

/** One attempt of a roll-up. */
export interface Attempt {
  /** The most messages, but at least one batch. */
  messagesMax: number;
  /** Number of batches of this attempt; `rollUpOnce` sets it. */
  batches: number;
  /** True if new batches come before waiting devices in this call. */
  prefersNew?: boolean;
  /** True if this call has computed waiting devices only; `rollUpOnce` sets it. */
  isPendingOnly?: boolean;
  /** The days before this one are final already; undefined: unknown. */
  closedBefore?: string | undefined;
  /** Chooses the touched series that a trial omits. A trial is always rolled back. */
  omitSeries?: (touched: readonly SeriesKey[]) => readonly SeriesKey[];
}

/** Ends a trial that did not fail, so that its transaction is rolled back. */
export class TrialRolledBack extends Error {}

/**
 * Runs all chapters once, in one transaction.
 * @throws TrialRolledBack at the end of a trial
 */
export function rollUpOnce(shard: Shard, options: RollUpOptions, attempt: Attempt): Promise<RollUpResult> {
  return shard.transaction((connection) => runChapters(shard, connection, options, attempt), {
    isQuiet: true,
    keep: hasFewTemporaryRows,
  });
}

/** From this many messages on, a call uses all threads of DuckDB. */
const MANY_MESSAGES = 20_000;

async function runChapters(
  shard: Shard,
  connection: DuckDBConnection,
  options: RollUpOptions,
  attempt: Attempt,
): Promise<RollUpResult> {
  const { workgroup, closeAfterMs, runAll = false } = options;
  const isAlone = workgroup.energyStreams.length === 1 && !runAll;
  const context: RollUpContext = {
    connection,
    timezone: workgroup.timezone,
    closeAfterMs,
    runAll,
    isAlone,
  };
  const { next, restatement } = await bindSettings(context, workgroup, attempt.messagesMax);
  const planned = planWork(next, restatement, attempt);
  const { batchId, isPendingOnly, hasNew, hasSetAside, staysPending } = planned;
  attempt.batches = planned.batches;
  attempt.isPendingOnly = isPendingOnly;
  const isRetry = hasSetAside && !isPendingOnly && !staysPending && (await releaseRetried(context)) > 0;
  const work = { ...planned, isRetry };
  const isIdle = !isPendingOnly && !hasNew && restatement === undefined && !isRetry;
  const compute = () => computeChanges(context, options, attempt, work);
  // Changed settings and waiting devices touch readings of any time.
  const isMuch =
    restatement !== undefined || isPendingOnly || isRetry || (next.messages ?? 0n) >= MANY_MESSAGES;
  const changed = isIdle ? nothingChanged : await (isMuch ? shard.withAllThreads(compute) : compute());
  await storeProgress(context, work, runAll);
  await closeDays(context, options, { isWaiting: changed.isWaiting, closedBefore: attempt.closedBefore });
  if (attempt.omitSeries) throw new TrialRolledBack();
  const { readings, rejected, days, isWaiting } = changed;
  return { batchId, readings, rejected, days, more: batchId < work.newestId || isWaiting };
}

/** What one call computes. */
interface Work {
  /** The batches after this one, up to and including `batchId`. Without new batches, both are the same. */
  afterBatchId: bigint;
  batchId: bigint;
  /** The newest batch of the warehouse. */
  newestId: bigint;
  /** Readings of later batches are new. */
  arrivedAfterId: bigint;
  /** Number of batches. */
  batches: number;
  /** True if the batches have messages. */
  hasNew: boolean;
  /** True if devices wait. */
  hasPending: boolean;
  /** True if this call computes only waiting devices, and reads no batch. */
  isPendingOnly: boolean;
  /** True if this call reads batches, and the waiting devices go on waiting. */
  staysPending: boolean;
  /** True if messages of the lake are read again. */
  hasArchived: boolean;
  /** True if there are corrections. */
  mayBeCorrected: boolean;
  /** True if series are set aside; isRetry: some of them are computed again. */
  hasSetAside: boolean;
  isRetry: boolean;
  /** The changed settings; undefined if none has changed. */
  restatement: Restatement | undefined;
}

/**
 * A call for waiting devices reads no batch. New batches have every second call, so that the other devices go
 * on. If settings have changed, everything is computed at once.
 */
function planWork(
  next: NextBatches,
  restatement: Restatement | undefined,
  { prefersNew = false }: Attempt,
): Omit<Work, 'isRetry'> {
  const { archived: hasArchived, has_pending: hasPending } = next;
  const newestId = next.newest_id ?? -1n;
  const afterBatchId = next.all_taken_id ?? -1n;
  const hasMessages = Number(next.messages ?? 0n) > 0;
  const staysPending = hasPending && restatement === undefined && prefersNew && hasMessages;
  const isPendingOnly = hasPending && restatement === undefined && !staysPending;
  const hasSetAside = next.set_aside > 0n;
  return {
    afterBatchId,
    batchId: isPendingOnly ? afterBatchId : (next.batch_id ?? newestId),
    newestId,
    // The readings of waiting devices came with earlier batches.
    arrivedAfterId: isPendingOnly ? -1n : (next.any_taken_id ?? -1n),
    batches: isPendingOnly ? 0 : Number(next.batches),
    hasNew: !isPendingOnly && hasMessages,
    hasPending,
    isPendingOnly,
    staysPending,
    hasArchived,
    mayBeCorrected: next.corrections > 0n,
    hasSetAside,
    restatement,
  };
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
 */
async function computeChanges(
  context: RollUpContext,
  options: RollUpOptions,
  attempt: Attempt,
  work: Work,
): Promise<Changes> {
  const { workgroup, closeAfterMs, indexAll = false } = options;
  const {
    afterBatchId,
    batchId,
    arrivedAfterId,
    hasPending,
    isPendingOnly,
    staysPending,
    mayBeCorrected,
    isRetry,
    restatement,
  } = work;
  const nowMs = BigInt(options.clock.now());
  const readingsMax = options.pendingReadingsMax ?? PENDING_READINGS_MAX;
  let stored: NewReadingsCount = { readings: 0, rejected: 0 };
  if (isPendingOnly) await loadPending(context, readingsMax);
  else
    stored = await storeNewReadings(context, {
      ...work,
      nowMs,
      rejudges: restatement !== undefined || isRetry,
    });
  context.omitsSeries = work.hasSetAside || attempt.omitSeries !== undefined;
  if (staysPending) context.hasDeferred = true;
  const { hasSeveralSeries } = await computeTouched(context, {
    workgroup,
    restatement,
    isRetry,
    indexAll,
    attempt,
    endsPending: hasPending && restatement !== undefined,
    isPendingOnly,
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
    mayBeCorrected,
    hasDeclaredSources,
    hasSeveralSeries,
  });
  if (context.hasDeferred)
    await runStatement(context, 'store_deferred_arrivals', {
      complete_id: afterBatchId,
      taken_id: arrivedAfterId,
    });
  const isWaiting =
    hasPending && !staysPending
      ? await deletePending(context, { all: !isPendingOnly })
      : context.hasDeferred === true;
  return { ...stored, days, isWaiting };
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
