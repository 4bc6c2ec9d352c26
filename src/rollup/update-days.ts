import { dayStart, type LocalDate } from '../lib/time.ts';
import {
  correctCandidates,
  type DayEffect,
  noteCorrectedDays,
  readEffects,
  touchesCorrections,
} from './apply-corrections.ts';
import type { Restatement } from './bind-streams.ts';
import { asBounds, joinToFewStretches } from './find-stretches.ts';
import {
  type Bounds,
  bindDays,
  type RollUpContext,
  readRow,
  readRows,
  runIf,
  runStatement,
} from './rollup-context.ts';
import { keepUnavailable, touchOmittedDays } from './set-aside.ts';

interface DayOptions {
  closeAfterMs: number;
  nowMs: bigint;
  batchId: bigint;
  /** Readings of later batches are new. */
  arrivedAfterId: bigint;
  /** The changed settings, because of which all days are compared; undefined if no setting has changed. */
  restatement: Restatement | undefined;
  /** The cause of new versions, if it is a correction. */
  cause?: 'correction';
  /** Receives the energy of each changed day, before and after. */
  effects?: DayEffect[];
  /** True if series that were set aside are computed again. */
  isRetry?: boolean;
  /** True if there are corrections. */
  hasCorrections: boolean;
  /** True if devices have declared sources. */
  hasDeclaredSources: boolean;
  /** True if a source has more than one series, so they can contradict each other. */
  hasSeveralSeries: boolean;
}

/**
 * Sums the intervals of the touched days, and stores the changed days as new versions.
 * @returns the number of changed days of a device and source
 */
export async function updateDays(context: RollUpContext, options: DayOptions): Promise<number> {
  if (options.restatement) return restateAllDays(context, options);
  const { hasDeclaredSources } = options;
  if (context.omitsSeries) await touchOmittedDays(context);
  if (hasDeclaredSources) await runStatement(context, 'touch_other_sources');
  const isCorrected = options.hasCorrections && (await touchesCorrections(context, { all: false }));
  if (isCorrected) {
    await noteCorrectedDays(context, { all: false });
    if (hasDeclaredSources) await runStatement(context, 'touch_other_sources');
  }
  let changed = 0;
  const noted = await readRows<Bounds>(context, 'list_touched_days');
  for (const { lowMs, highMs } of joinToFewStretches(noted)) {
    await bindDays(context, lowMs, highMs, { byInterval: true });
    changed += await storeDays(context, asBounds({ lowMs, highMs }), { ...options, isCorrected });
  }
  return changed;
}

async function restateAllDays(context: RollUpContext, options: DayOptions): Promise<number> {
  const { first_day, last_day } = await readRow<{ first_day: LocalDate | null; last_day: LocalDate | null }>(
    context,
    'read_all_days_range',
  );
  if (first_day === null || last_day === null) return 0;
  const { timezone } = context;
  await bindDays(context, dayStart(first_day, timezone), dayStart(last_day, timezone), { byInterval: true });
  await runStatement(context, 'touch_all_days');
  const isCorrected = options.hasCorrections && (await touchesCorrections(context, { all: true }));
  if (isCorrected) await noteCorrectedDays(context, { all: true });
  if (options.hasDeclaredSources) await runStatement(context, 'touch_other_sources');
  return storeDays(context, asBounds({ lowMs: 0, highMs: Number.MAX_SAFE_INTEGER }), {
    ...options,
    isCorrected,
  });
}

async function storeDays(
  context: RollUpContext,
  bounds: Bounds,
  options: DayOptions & { isCorrected: boolean },
): Promise<number> {
  const { closeAfterMs, nowMs, batchId, arrivedAfterId, restatement, isCorrected, hasSeveralSeries } =
    options;
  await runStatement(context, 'collect_candidates', bounds);
  if (hasSeveralSeries || context.runAll) await runStatement(context, 'substitute_methods');
  if (isCorrected) await correctCandidates(context, bounds);
  await runIf(hasSeveralSeries, context, 'collect_contradictions');
  if (isCorrected) await runStatement(context, 'drop_decided_contradictions');
  const closing = { ...bounds, now_ms: nowMs, close_after_ms: BigInt(closeAfterMs) };
  const { runAll = false } = context;
  let changed = await runStatement(context, 'collect_day_changes', {
    ...closing,
    declares: options.hasDeclaredSources || runAll,
    several: hasSeveralSeries || runAll,
  });
  if (context.omitsSeries) changed = await keepUnavailable(context, closing);
  if (changed > 0) {
    options.effects?.push(...(await readEffects(context)));
    const cause = options.cause ?? restatement ?? (options.isRetry ? 'retried' : null);
    const arrived = { arrived_after: arrivedAfterId };
    await runStatement(context, 'store_versions', { now_ms: nowMs, batch_id: batchId, cause, ...arrived });
    await runStatement(context, 'delete_changed_days');
    await runStatement(context, 'store_days', { now_ms: nowMs, batch_id: batchId });
  }
  await runStatement(context, 'mark_dirty', { ...bounds, now_ms: nowMs });
  return changed;
}
