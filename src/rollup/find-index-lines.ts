import type { Scope } from './find-scope.ts';
import { type Bounds, type RollUpContext, readRows, runIf, runStatement } from './rollup-context.ts';

/**
 * Computes the index of the registers in scope that do more than grow, in table `index_line`.
 * @param options.all of every register, for tests that compare both ways
 * @returns true if there are any
 */
export async function findIndexLines(
  context: RollUpContext,
  { bounds, methods, besideDaily }: Scope,
  { all }: { all: boolean },
): Promise<boolean> {
  const needs = await runStatement(context, 'collect_needs_full_index', {
    ...bounds,
    all,
    beside_daily: besideDaily || context.runAll === true,
  });
  const isNeeded = needs > 0;
  await runIf(isNeeded, context, 'collect_index_readings', bounds);
  if (isNeeded || context.runAll) await rebaseDrift(context);
  await runIf(isNeeded, context, 'collect_skipped_readings', bounds);
  await runIf(isNeeded, context, 'collect_lines');
  if (methods.has('daily_energy')) await addDailyLines(context, bounds);
  if ((await runIf(besideDaily, context, 'collect_midnight_anchors', bounds)) === 0) return isNeeded;
  await runStatement(context, 'drop_lines_over_midnight');
  await runStatement(context, 'add_lines_at_midnight');
  return isNeeded;
}

/** Adds the lines of registers that restart every day. */
async function addDailyLines(context: RollUpContext, bounds: Bounds): Promise<void> {
  await runStatement(context, 'collect_daily_readings', bounds);
  await runStatement(context, 'classify_daily_steps');
  await runStatement(context, 'collect_daily_lines');
}

type DriftRow = {
  series_id: number;
  index_segment: bigint;
  event_time_ms: bigint;
  value: number;
  mark: number;
  jitter_wh: number;
};

/**
 * Finds rebases of registers that drift: each fall is within the jitter, but all falls together are larger.
 * Energy that the register counts below its high-water mark would be lost. So the mark is lowered to the
 * jitter above the reading. This is not in SQL, because each rebase depends on the one before. Few registers
 * drift.
 */
async function rebaseDrift(context: RollUpContext): Promise<void> {
  const rows = await readRows<DriftRow>(context, 'list_drift');
  if (rows.length === 0) return;
  const drifted = [
    ...Map.groupBy(rows, ({ series_id, index_segment }) => `${series_id} ${index_segment}`).values(),
  ].flatMap(driftRebases);
  await runStatement(context, 'apply_drift_rebases', { drifted: JSON.stringify(drifted) });
}

function driftRebases(rows: readonly DriftRow[]) {
  let held = rows[0]!.mark;
  return rows.flatMap(({ series_id, event_time_ms, value, mark, jitter_wh }) => {
    held = Math.max(held, mark);
    if (value >= held - jitter_wh) return [];
    held = value + jitter_wh;
    return [{ series_id, event_time_ms: Number(event_time_ms), mark: held }];
  });
}
