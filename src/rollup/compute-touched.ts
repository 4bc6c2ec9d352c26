import type { WorkgroupConfig } from '../config/config.ts';
import { computeStretch } from './compute-stretch.ts';
import { asOneStretch, loadPendingLimits, type PendingBudget, touchPending } from './defer-devices.ts';
import { findStretches } from './find-stretches.ts';
import type { Work } from './plan-work.ts';
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
  indexAll: boolean;
  /** Chooses the touched series that a trial omits; undefined if this is no trial. */
  omitSeries: ((touched: readonly SeriesKey[]) => readonly SeriesKey[]) | undefined;
  pendingBudget: PendingBudget;
  /** The maximum number of intervals of silences that this call computes. It computes at least one source. */
  intervalsMax: bigint;
}

/**
 * Computes everything that new readings and changed rules touch. The touched time is divided into stretches
 * that are days apart, and each is computed by itself. So a reading of last year costs the computation of one
 * day, and not of a year.
 * @param work what the call computes. `kind` and `hasWaiting`: see `Work`. `isRetry`: series that were set
 *   aside are computed again, from their first reading on
 * @returns hasSeveralSeries: true if a source of the touched devices can have more than one series
 */
export async function computeTouched(
  context: RollUpContext,
  work: Pick<Work, 'kind' | 'hasWaiting'> & { isRetry: boolean },
  options: ComputeTouchedOptions,
): Promise<{ hasSeveralSeries: boolean }> {
  const { kind, hasWaiting, isRetry } = work;
  const { workgroup, indexAll, pendingBudget, intervalsMax } = options;
  const [isRestated, isWaitingOnly] = [kind === 'all', kind === 'waiting'];
  await runStatement(context, 'collect_rules', { all: isRestated || isRetry, is_chosen: isWaitingOnly });
  await prepareTemporaryTables(context);
  const hasRegisterChanges = workgroup.energyStreams.some(
    ({ registerChanges }) => registerChanges.length > 0,
  );
  await runIf(hasRegisterChanges, context, 'collect_register_changes');
  if (isRestated) {
    await runStatement(context, 'delete_outdated_quarters');
    await runStatement(context, 'delete_outdated_days');
  }
  if (isWaitingOnly) await touchPending(context);
  else await runStatement(context, 'collect_touched', { is_restated: isRestated, beside: !context.isAlone });
  if (isRestated && hasWaiting) {
    await runStatement(context, 'add_pending_touched');
    await runStatement(context, 'apply_pending_reach');
  }
  if (isRetry) await runStatement(context, 'touch_retried_series');
  if (context.omitsSeries) {
    const touched = await readRows<SeriesKey>(context, 'list_touched_series');
    await omitSeries(context, options.omitSeries?.(touched) ?? []);
  }
  if (isWaitingOnly) await loadPendingLimits(context);
  const found = await findStretches(context);
  const touched = isWaitingOnly ? asOneStretch(found) : found;
  for (const stretch of touched.stretches) {
    await computeStretch(context, stretch, touched, {
      isRestated,
      indexAll,
      hasLearnt: isWaitingOnly,
      ...(kind !== 'all' && { intervalsMax }),
      ...(kind === 'new' && { pendingBudget }),
    });
  }
  return { hasSeveralSeries: touched.hasSeveralSeries || (isRestated && !context.isAlone) };
}
