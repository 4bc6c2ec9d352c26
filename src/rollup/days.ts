import { dayStart, type LocalDate } from '../lib/time.ts';
import type { Restatement } from './bind-streams.ts';
import {
  correctCandidates,
  type DayEffect,
  hasCorrections,
  noteCorrectedDays,
  readEffects,
} from './corrections.ts';
import { keepUnavailable, touchLeftOut } from './set-aside.ts';
import { asBounds, type StretchRow, stretchesOf } from './stretches.ts';
import { ask, type Bounds, bindDays, list, run, runIf, type Working } from './working.ts';

export interface DayOptions {
  closeAfterMs: number;
  nowMs: bigint;
  batchId: bigint;
  /** Readings of later batches have arrived since the last roll-up. */
  arrivedAfterId: bigint;
  /** Which settings have changed, so that every day there is has to be looked at. */
  restated: Restatement | undefined;
  /** What brings the new versions about, where that is a correction. */
  cause?: 'correction';
  /** Takes what each day was and is. */
  effects?: DayEffect[];
  /** Series that had been set aside are computed again. */
  retries?: boolean;
  /** There are corrections. */
  corrected: boolean;
  /** Devices are declared to have sources. */
  declares: boolean;
  /** A source has more than one series, so that one may contradict another. */
  several: boolean;
}

/**
 * Sums the noted days of their intervals and stores those that have changed as new versions, once, whatever has been computed on the way.
 * @returns how many days of a device and source have changed
 */
export async function updateDays(working: Working, options: DayOptions): Promise<number> {
  if (options.restated) return restateAllDays(working, options);
  const { declares } = options;
  if (working.leavesOut) await touchLeftOut(working);
  if (declares) await run(working, 'touch_other_sources');
  const isCorrected = options.corrected && (await hasCorrections(working, { all: false }));
  if (isCorrected) {
    await noteCorrectedDays(working, { all: false });
    if (declares) await run(working, 'touch_other_sources');
  }
  let changed = 0;
  const noted = await list<StretchRow>(working, 'touched_day_bounds');
  for (const { lowMs, highMs } of stretchesOf(noted)) {
    await bindDays(working, lowMs, highMs, true);
    changed += await storeDays(working, asBounds({ lowMs, highMs }), { ...options, isCorrected });
  }
  return changed;
}

async function restateAllDays(working: Working, options: DayOptions): Promise<number> {
  const { first_day, last_day } = await ask<{ first_day: LocalDate | null; last_day: LocalDate | null }>(
    working,
    'all_days_bounds',
  );
  if (first_day === null || last_day === null) return 0;
  const { timezone } = working;
  await bindDays(working, dayStart(first_day, timezone), dayStart(last_day, timezone), true);
  await run(working, 'touch_all_days');
  const isCorrected = options.corrected && (await hasCorrections(working, { all: true }));
  if (isCorrected) await noteCorrectedDays(working, { all: true });
  if (options.declares) await run(working, 'touch_other_sources');
  return storeDays(working, asBounds({ lowMs: 0, highMs: Number.MAX_SAFE_INTEGER }), {
    ...options,
    isCorrected,
  });
}

async function storeDays(
  working: Working,
  bounds: Bounds,
  options: DayOptions & { isCorrected: boolean },
): Promise<number> {
  const { closeAfterMs, nowMs, batchId, arrivedAfterId, restated, isCorrected, several } = options;
  await run(working, 'find_candidates', bounds);
  if (several || working.runAll) await run(working, 'substitute_methods');
  if (isCorrected) await correctCandidates(working, bounds);
  await runIf(several, working, 'find_contradictions');
  if (isCorrected) await run(working, 'forget_decided_contradictions');
  const closing = { ...bounds, now_ms: nowMs, close_after_ms: BigInt(closeAfterMs) };
  const { runAll = false } = working;
  let changed = await run(working, 'find_day_changes', {
    ...closing,
    declares: options.declares || runAll,
    several: several || runAll,
  });
  if (working.leavesOut) changed = await keepUnavailable(working, closing);
  if (changed > 0) {
    options.effects?.push(...(await readEffects(working)));
    const cause = options.cause ?? restated ?? (options.retries ? 'retried' : null);
    const arrived = { arrived_after: arrivedAfterId };
    await run(working, 'keep_versions', { now_ms: nowMs, batch_id: batchId, restated: cause, ...arrived });
    await run(working, 'forget_days_changed');
    await run(working, 'store_days', { now_ms: nowMs, batch_id: batchId });
  }
  await run(working, 'mark_dirty', { ...bounds, now_ms: nowMs });
  return changed;
}
