import type { Scope } from './scope.ts';
import { list, run, runIf, type Working } from './working.ts';

/** The index of the registers in scope that do more than grow, in table `index_line`. `all`: of every register. @returns whether there are any */
export async function findIndexLines(
  working: Working,
  { bounds, methods, anchored }: Scope,
  all: boolean,
): Promise<boolean> {
  const needs = await run(working, 'find_needs_index', {
    ...bounds,
    all,
    anchored: anchored || working.runAll === true,
  });
  const needed = needs > 0;
  await runIf(needed, working, 'find_kept', bounds);
  if (needed || working.runAll) await giveWay(working);
  await runIf(needed, working, 'find_passed_over', bounds);
  await runIf(needed, working, 'find_lines');
  if (methods.has('daily_energy')) await run(working, 'find_daily_lines', bounds);
  if ((await runIf(anchored, working, 'find_midnight_anchors', bounds)) === 0) return needed;
  await run(working, 'cut_at_midnight');
  await run(working, 'add_cut_lines');
  return needed;
}

type DriftRow = {
  series_id: number;
  frame: bigint;
  t: bigint;
  v: number;
  mark: number;
  jitter_wh: number;
};

/**
 * Lets the high-water mark of drifting registers give way: each fall is within the jitter, and all together are not. A mark that is held for ever
 * would swallow what the register counts below it, so the mark stays the jitter above the reading. That goes reading by reading, which SQL
 * cannot do; hardly any register drifts.
 */
async function giveWay(working: Working): Promise<void> {
  const rows = await list<DriftRow>(working, 'find_drifting');
  if (rows.length === 0) return;
  const drifted = [...Map.groupBy(rows, ({ series_id, frame }) => `${series_id} ${frame}`).values()].flatMap(
    driftedOf,
  );
  await run(working, 'mark_drifted', { drifted: JSON.stringify(drifted) });
}

function driftedOf(rows: readonly DriftRow[]) {
  let held = rows[0]!.mark;
  return rows.flatMap(({ series_id, t, v, mark, jitter_wh }) => {
    held = Math.max(held, mark);
    if (v >= held - jitter_wh) return [];
    held = v + jitter_wh;
    return [{ series_id, t: Number(t), mark: held }];
  });
}
