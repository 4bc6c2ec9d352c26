import type { WorkgroupConfig } from '../config/config.ts';
import type { Restatement } from './bind-streams.ts';
import { computeStretch } from './compute-stretch.ts';
import { asOneStretch, loadPendingLimits, type PendingBudget, touchPending } from './defer-devices.ts';
import { findStretches } from './find-stretches.ts';
import {
  prepareTemporaryTables,
  type RollUpContext,
  readRows,
  runIf,
  runStatement,
} from './rollup-context.ts';
import { omitSeries, type SeriesKey } from './set-aside.ts';

interface ComputeTouchedOptions {
  workgroup: WorkgroupConfig;
  /** The changed settings; undefined if none has changed. */
  restatement: Restatement | undefined;
  /** True if series that were set aside are computed again. */
  isRetry: boolean;
  indexAll: boolean;
  /** A trial chooses the touched series that it omits. */
  attempt: { omitSeries?: (touched: readonly SeriesKey[]) => readonly SeriesKey[] };
  /** True if this call also computes all waiting devices. */
  endsPending: boolean;
  /** True if this call computes only waiting devices. */
  isPendingOnly: boolean;
  pendingBudget: PendingBudget;
  /** The most intervals of silences that this call computes, but at least one source. */
  intervalsMax: bigint;
}

/**
 * Computes everything that new readings and changed rules touch. The touched time is divided into stretches
 * that are days apart, and each is computed by itself. So a reading of last year costs the computation of one
 * day, and not of a year.
 * @returns hasSeveralSeries: true if a source of the touched devices can have more than one series
 */
export async function computeTouched(
  context: RollUpContext,
  options: ComputeTouchedOptions,
): Promise<{ hasSeveralSeries: boolean }> {
  const { workgroup, restatement, isRetry, indexAll, attempt, endsPending, isPendingOnly } = options;
  const isRestated = restatement !== undefined;
  await runStatement(context, 'find_rules', { all: isRestated || isRetry, is_chosen: isPendingOnly });
  await prepareTemporaryTables(context);
  const hasRegisterChanges = workgroup.energyStreams.some(
    ({ registerChanges }) => registerChanges.length > 0,
  );
  await runIf(hasRegisterChanges, context, 'find_register_changes');
  if (isRestated) {
    await runStatement(context, 'delete_outdated_quarters');
    await runStatement(context, 'delete_outdated_days');
  }
  if (isPendingOnly) await touchPending(context);
  else await runStatement(context, 'find_touched', { is_restated: isRestated, beside: !context.isAlone });
  if (endsPending) {
    await runStatement(context, 'add_pending_touched');
    await runStatement(context, 'apply_pending_reach');
  }
  if (isRetry) await runStatement(context, 'touch_retried_series');
  if (context.omitsSeries) {
    const touched = await readRows<SeriesKey>(context, 'list_touched_series');
    await omitSeries(context, attempt.omitSeries?.(touched) ?? []);
  }
  if (isPendingOnly) await loadPendingLimits(context);
  const found = await findStretches(context);
  const touched = isPendingOnly ? asOneStretch(found) : found;
  for (const stretch of touched.stretches) {
    await computeStretch(context, stretch, touched, {
      isRestated,
      indexAll,
      hasLearnt: isPendingOnly,
      ...(!isRestated && { intervalsMax: options.intervalsMax }),
      ...(!isPendingOnly && !isRestated && { pendingBudget: options.pendingBudget }),
    });
  }
  return { hasSeveralSeries: touched.hasSeveralSeries || (isRestated && !context.isAlone) };
}
