import type { WorkgroupConfig } from '../config/config.ts';
import type { Logger } from '../lib/logger.ts';
import { type Clock, localDateOf } from '../lib/time.ts';
import type { Shard } from '../warehouse/shard.ts';
import { bindSettings } from './bind-settings.ts';
import { computeTouched } from './compute-touched.ts';
import { deletePending, loadPending, MOVED_READINGS_MAX } from './defer-devices.ts';
import { hasFewTemporaryRows, type RollUpContext, run } from './rollup-context.ts';
import { releaseRetried, type SeriesKey } from './set-aside.ts';
import { storeNewReadings } from './store-new-readings.ts';
import { updateDays } from './update-days.ts';

export interface RollUpOptions {
  workgroup: WorkgroupConfig;
  clock: Clock;
  /** A day is final when this much time has passed since its end. */
  closeAfterMs: number;
  /** The most messages of one call (default: see `messagesMaxOf`). It bounds the transaction; the caller calls again while the result has `more`. */
  messagesMax?: number;
  /** The most readings that one call computes again because learnt limits have changed, but at least one device. */
  movedReadingsMax?: number;
  /** Computes a full index for every register, also for one that only grows. For tests that compare both ways. */
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
  /** True if batches are left for another call, or devices wait for new limits. */
  more: boolean;
}

/** One attempt of a roll-up. */
export interface Attempt {
  /** The most messages, but at least one batch. */
  messagesMax: number;
  /** Number of batches of this attempt; `rollUpOnce` sets it. */
  batches: number;
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
      // Waiting devices come first; then this call reads no batch. If settings have changed, everything is computed at once.
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
        const batches = { afterBatchId, batchId, archived, corrected, nowMs, rejudges };
        const readingsMax = options.movedReadingsMax ?? MOVED_READINGS_MAX;
        if (onlyPending) await loadPending(context, readingsMax);
        else Object.assign(result, await storeNewReadings(context, batches));
        context.omitsSeries = hasSetAside || attempt.omitSeries !== undefined;
        const several = await computeTouched(context, {
          workgroup,
          restated,
          retries,
          indexAll,
          attempt,
          hasPending,
          onlyPending,
          pendingBudget: { readingsMax, completeId: afterBatchId, batchId },
        });
        const declares = workgroup.devices.some(({ sources = [] }) => sources.length > 0);
        // The readings of waiting devices came with earlier batches.
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
      // While devices wait, no day becomes final, because waiting days still have their old energy.
      if (!isLeft && (openDay !== attempt.closedBefore || runAll))
        await run(context, 'close_days', { before: openDay });
      if (attempt.omitSeries) throw new TrialRolledBack();
      return result;
    },
    { isQuiet: true, keep: hasFewTemporaryRows },
  );
}

/** The first local day that is not final: its end is less than `closeAfterMs` ago, or in the future. */
export function firstOpenDay({ clock, closeAfterMs, workgroup }: RollUpOptions): string {
  return localDateOf(clock.now() - closeAfterMs, workgroup.timezone);
}
