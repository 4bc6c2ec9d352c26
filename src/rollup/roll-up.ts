import type { WorkgroupConfig } from '../config/config.ts';
import type { Logger } from '../lib/logger.ts';
import { type Clock, localDateOf } from '../lib/time.ts';
import type { Shard } from '../warehouse/shard.ts';
import { bindSettings, settingsOf } from './bind-settings.ts';
import type { Restatement } from './bind-streams.ts';
import { computeStretch } from './compute-stretch.ts';
import {
  asOneStretch,
  deletePending,
  loadPending,
  loadPendingLimits,
  MOVED_READINGS_MAX,
  type PendingBudget,
  touchPending,
} from './defer-devices.ts';
import { describeFailure, findFailingSeries, mayComeFromData } from './find-failing-series.ts';
import { findStretches } from './find-stretches.ts';
import {
  emptyTable,
  hasFewTemporaryRows,
  prepareTemporaryTables,
  type RollUpContext,
  readRows,
  run,
  runIf,
} from './rollup-context.ts';
import { omitSeries, releaseRetried, type SeriesKey, setAside } from './set-aside.ts';
import { storeNewReadings } from './store-new-readings.ts';
import { updateDays } from './update-days.ts';

export interface RollUpOptions {
  workgroup: WorkgroupConfig;
  clock: Clock;
  /** A day is final once this much time has passed since it ended. */
  closeAfterMs: number;
  /** Messages taken in by one call at most (default: see `messagesMaxOf`), so that a transaction stays bounded; the caller calls again while `more`. */
  messagesMax?: number;
  /** Readings on days whose learnt limits have moved that are computed again by one call at most, at least one device; for the same reason. */
  movedReadingsMax?: number;
  /** Every register gets an index, also one that only grows. For tests that compare both ways. */
  indexAll?: boolean;
  /** Runs every statement, also one that has nothing to do. For tests that compare both ways. */
  runAll?: boolean;
  logger: Logger;
}

export interface RollUpResult {
  /** The last batch that has been taken in. */
  batchId: bigint;
  /** New readings, and readings that were rejected into quarantine. */
  readings: number;
  rejected: number;
  /** Days of a device and source that changed. */
  days: number;
  /** Batches are left for another call, or devices whose limits have moved. */
  more: boolean;
}

/** Messages of one call, with however many streams. */
const MESSAGES_MAX = 250_000;
/** Readings of one call, where few streams read the messages, so that what every call costs by itself counts for little. One an hour makes four intervals, which take the memory. */
const READINGS_MAX = 500_000;
/** How often failing series are looked for in one call: once, unless failures come and go. */
const ROUNDS_MAX = 3;

/**
 * Turns what has landed since the last call into energy: readings, 15-minute intervals, days. One transaction; everything that is touched is
 * computed again as a whole, so the same readings give the same rows in whatever order and however often they come, and calling again without new
 * batches changes nothing. Data flows through the chapters of sql/rollup in the order of their numbers. Where nothing has been written since the last call, no
 * statement is run.
 * Where that fails, fewer batches are tried, and then the series are set aside with which it fails (see `findFailingSeries`): the others go on.
 * @throws StaleOwnerError when another worker has taken the shard; nothing has changed then
 */
export async function rollUp(shard: Shard, options: RollUpOptions): Promise<RollUpResult> {
  const last = lastRuns.get(shard);
  // Before the roll-up begins, so that what is written during it counts as new.
  const now = {
    changes: shard.changes(),
    settings: settingsOf(options.workgroup),
    openDay: firstOpenDay(options),
  };
  if (last && last.changes === now.changes && last.settings === now.settings && last.openDay === now.openDay)
    return { batchId: last.batchId, readings: 0, rejected: 0, days: 0, more: false };
  lastRuns.delete(shard);
  // What has ended since with other settings was closed by those.
  const closedBefore = last?.settings === now.settings ? last.openDay : undefined;
  const result = await rollUpSafely(shard, options, closedBefore);
  if (!result.more) lastRuns.set(shard, { ...now, batchId: result.batchId });
  return result;
}

/** What the last roll-up of a shard has left nothing to do for: while these are the same, there is nothing to do. */
interface LastRun {
  changes: number;
  settings: string;
  /** The first day that is not final. */
  openDay: string;
  batchId: bigint;
}

/** A process that opens a shard anew knows nothing, and looks. */
const lastRuns = new WeakMap<Shard, LastRun>();

/** Tries again with less where it fails. */
async function rollUpSafely(
  shard: Shard,
  options: RollUpOptions,
  closedBefore: string | undefined,
): Promise<RollUpResult> {
  const attempt: Attempt = {
    messagesMax: options.messagesMax ?? messagesMaxOf(options.workgroup),
    batches: 0,
    closedBefore,
  };
  for (let rounds = 0; ; ) {
    try {
      return await rollUpOnce(shard, options, attempt);
    } catch (error) {
      if (!mayComeFromData(error)) throw error;
      if (attempt.batches > 1) attempt.messagesMax = Math.floor(attempt.messagesMax / 2);
      else if (++rounds > ROUNDS_MAX || !(await setFailingSeriesAside(shard, options, attempt))) throw error;
    }
  }
}

/** How many messages one call takes in: as many as bring `READINGS_MAX`, where each brings a reading of every stream, but `MESSAGES_MAX` at least. */
function messagesMaxOf({ energyStreams }: WorkgroupConfig): number {
  return Math.max(MESSAGES_MAX, Math.floor(READINGS_MAX / Math.max(1, energyStreams.length)));
}

/** One try of a roll-up. */
interface Attempt {
  /** Messages taken in at most, but one batch at least. */
  messagesMax: number;
  /** How many batches it has taken in. */
  batches: number;
  /** The days before this one are final already; undefined: nobody knows. */
  closedBefore?: string | undefined;
  /** Which of the touched series are left out; then nothing is kept of what the roll-up does. */
  omitSeries?: (touched: readonly SeriesKey[]) => readonly SeriesKey[];
}

class TrialRolledBack extends Error {}

/** @returns whether another try may go well */
async function setFailingSeriesAside(
  shard: Shard,
  options: RollUpOptions,
  { messagesMax }: Attempt,
): Promise<boolean> {
  const { logger, clock } = options;
  const tryWith = async (omitSeries: Attempt['omitSeries']): Promise<unknown> => {
    try {
      return await rollUpOnce(shard, options, { messagesMax, batches: 0, omitSeries: omitSeries! });
    } catch (error) {
      if (error instanceof TrialRolledBack) return undefined;
      if (!mayComeFromData(error)) throw error;
      return error;
    }
  };
  let touched: readonly SeriesKey[] = [];
  const withoutAny = await tryWith((all) => {
    touched = all;
    return all;
  });
  // It is not of the series.
  if (withoutAny !== undefined) return false;
  const failing = await findFailingSeries(touched, (included) => {
    const names = new Set(included.map(seriesName));
    return tryWith((all) => all.filter((key) => !names.has(seriesName(key))));
  });
  for (const { key, error } of failing) {
    const words = describeFailure(error);
    await shard.transaction((connection) => setAside(connection, key, { error: words, nowMs: clock.now() }));
    const { device, source, stream_id: streamId } = key;
    logger.error({ shard: shard.workgroupId, device, source, streamId, reason: words }, 'rollup.set_aside');
  }
  return true;
}

function seriesName({ stream_id, device, source }: SeriesKey): string {
  return `${stream_id} ${device} ${source}`;
}

function rollUpOnce(shard: Shard, options: RollUpOptions, attempt: Attempt): Promise<RollUpResult> {
  return shard.transaction(
    async (connection) => {
      const { workgroup, closeAfterMs } = options;
      const { runAll = false, indexAll = false } = options;
      const isAlone = workgroup.energyStreams.length === 1 && !runAll;
      const context: RollUpContext = {
        connection,
        timezone: workgroup.timezone,
        closeAfterMs,
        runAll,
        isAlone,
      };
      const { pending, restated } = await bindSettings(context, workgroup, attempt.messagesMax);
      const newestId = pending.newest_id ?? -1n;
      const afterBatchId = pending.all_taken_id ?? -1n;
      const { archived, has_pending: hasPending } = pending;
      // Devices that wait come first, and no batch is taken in. Where settings have changed, everything is computed at once.
      const onlyPending = hasPending && restated === undefined;
      attempt.batches = onlyPending ? 0 : Number(pending.batches);
      const batchId = onlyPending ? afterBatchId : (pending.batch_id ?? newestId);
      const corrected = pending.corrections > 0n;
      const hasSetAside = pending.set_aside > 0n;
      const retries = hasSetAside && !onlyPending && (await releaseRetried(context)) > 0;
      const result = { batchId, readings: 0, rejected: 0, days: 0, more: batchId < newestId };
      const hasNew = !onlyPending && Number(pending.messages ?? 0n) > 0;
      let isLeft = false;
      if (onlyPending || hasNew || restated !== undefined || retries) {
        const nowMs = BigInt(options.clock.now());
        const rejudges = restated !== undefined || retries;
        const taken = { afterBatchId, batchId, archived, corrected, nowMs, rejudges };
        const readingsMax = options.movedReadingsMax ?? MOVED_READINGS_MAX;
        if (onlyPending) await loadPending(context, readingsMax);
        else Object.assign(result, await storeNewReadings(context, taken));
        context.omitsSeries = hasSetAside || attempt.omitSeries !== undefined;
        const pendingBudget = { readingsMax, completeId: afterBatchId, batchId };
        const computation = {
          workgroup,
          restated,
          retries,
          indexAll,
          attempt,
          hasPending,
          onlyPending,
          pendingBudget,
        };
        const several = await computeTouched(context, computation);
        const declares = workgroup.devices.some(({ sources = [] }) => sources.length > 0);
        // What hasPending has arrived by the batches of then.
        const arrivedAfterId = onlyPending ? -1n : (pending.any_taken_id ?? -1n);
        const days = { closeAfterMs, restated, retries, nowMs, batchId, arrivedAfterId };
        result.days = await updateDays(context, { ...days, corrected, declares, several });
        if (context.hasDeferred)
          await run(context, 'store_deferred_arrivals', {
            complete_id: afterBatchId,
            taken_id: arrivedAfterId,
          });
        isLeft = hasPending ? await deletePending(context, !onlyPending) : context.hasDeferred === true;
        result.more ||= isLeft;
      }
      if (afterBatchId < batchId || runAll) await run(context, 'advance_streams', { batch_id: batchId });
      if (archived || runAll) await run(context, 'delete_archived');
      const openDay = firstOpenDay(options);
      // No day is final by what it was before limits moved.
      if (!isLeft && (openDay !== attempt.closedBefore || runAll))
        await run(context, 'close_days', { before: openDay });
      if (attempt.omitSeries) throw new TrialRolledBack();
      return result;
    },
    { isQuiet: true, keep: hasFewTemporaryRows },
  );
}

interface Computation {
  workgroup: WorkgroupConfig;
  restated: Restatement | undefined;
  /** Series that had been set aside are computed again. */
  retries: boolean;
  indexAll: boolean;
  attempt: Attempt;
  /** Devices wait whose limits have moved; some of them are computed now, and nothing else. */
  hasPending: boolean;
  onlyPending: boolean;
  pendingBudget: PendingBudget;
}

/**
 * Computes what new readings and changed rules touch, in stretches that are days apart: each by itself, so that a reading from last year costs a
 * look at last year's day and not at everything since.
 * @returns whether a source of the touched devices has more than one series
 */
async function computeTouched(
  context: RollUpContext,
  { workgroup, restated, retries, indexAll, attempt, hasPending, onlyPending, pendingBudget }: Computation,
): Promise<boolean> {
  const isRestated = restated !== undefined;
  await run(context, 'find_rules', { all: isRestated || retries });
  await prepareTemporaryTables(context);
  const hasChanges = workgroup.energyStreams.some(({ registerEpochs }) => registerEpochs.length > 0);
  await runIf(hasChanges, context, 'find_register_changes');
  if (isRestated) {
    await run(context, 'delete_outdated_quarters');
    await run(context, 'delete_outdated_days');
  }
  if (onlyPending) await touchPending(context);
  else await run(context, 'find_touched', { is_restated: isRestated, beside: !context.isAlone });
  if (hasPending && !onlyPending) {
    await run(context, 'add_pending_touched');
    await run(context, 'apply_pending_reach');
  }
  if (retries) await run(context, 'touch_retried_series');
  if (context.omitsSeries) {
    const touched = await readRows<SeriesKey>(context, 'list_touched_series');
    await omitSeries(context, attempt.omitSeries?.(touched) ?? []);
  }
  if (onlyPending) await loadPendingLimits(context);
  const found = await findStretches(context);
  const touched = onlyPending ? asOneStretch(found) : found;
  for (const stretch of touched.stretches) {
    await computeStretch(context, stretch, touched, {
      isRestated,
      indexAll,
      hasLearnt: onlyPending,
      ...(!onlyPending && !isRestated && { pendingBudget }),
    });
  }
  // Else the days of the roll-up before would be taken for those of this one.
  if (!context.hasTouched) await emptyTable(context, 'touched_day');
  return touched.several || isRestated;
}

/** The first local day that is not final: it ended less than `closeAfterMs` ago, or has not ended. */
function firstOpenDay({ clock, closeAfterMs, workgroup }: RollUpOptions): string {
  return localDateOf(clock.now() - closeAfterMs, workgroup.timezone);
}
