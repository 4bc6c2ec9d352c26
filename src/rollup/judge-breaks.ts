import { DAY_MS, type UtcMs } from '../lib/time.ts';
import type { Scope } from './find-scope.ts';
import {
  type BreakRow,
  type ChangeRow,
  judgeBreakRows,
  type SeriesRow,
  type SeriesVerdict,
} from './judge-break-rows.ts';
import type { EnergyEvent } from './register-rule.ts';
import {
  type Bounds,
  type RollUpContext,
  readRow,
  readRows,
  rowsOf,
  runStatement,
} from './rollup-context.ts';
import { ruleConstants, workBounds } from './rule-constants.ts';

/**
 * Finds the breaks in scope. If some have changed, it judges what happened there.
 * @param options.isRestated rules have changed, so every break in scope is judged again
 * @param options.leastPowerW see statement `read_least_limit`
 * @returns true if events have changed; table `changed_event` has them
 */
export async function judgeBreaks(
  context: RollUpContext,
  { bounds, methods, mayRejudge }: Scope,
  { isRestated, leastPowerW }: { isRestated: boolean; leastPowerW: number | null },
): Promise<boolean> {
  const { runAll = false } = context;
  await runStatement(context, 'collect_breaks', { least_power_w: leastPowerW });
  if (rowsOf(context, 'register_change') > 0 || runAll) await runStatement(context, 'add_declared_breaks');
  if (methods.has('power_curve') || methods.has('interval_energy') || runAll)
    await runStatement(context, 'add_power_breaks');
  const changed = await runStatement(context, 'collect_changed_breaks', bounds);
  if (changed > 0) {
    await runStatement(context, 'delete_breaks');
    await runStatement(context, 'store_breaks');
  }
  // In all other cases `collect_changed_ranges` would find nothing.
  const isWanted = changed > 0 || mayRejudge || isRestated || runAll;
  if (!isWanted) return false;
  return (await findJudged(context, bounds, isRestated)) && (await judge(context));
}

/** Finds which breaks are judged again, in table `judging_range`. @returns whether there are any */
async function findJudged(context: RollUpContext, bounds: Bounds, isRestated: boolean): Promise<boolean> {
  const found = await runStatement(context, 'collect_changed_ranges', { ...bounds, is_restated: isRestated });
  if (found === 0) return false;
  const find = (nearMs: number) =>
    runStatement(context, 'collect_judging_ranges', {
      ahead: workBounds.decided_ahead,
      near_ms: BigInt(nearMs),
    });
  // A restatement begins with every series, so a search near the changes would not be enough.
  await find(isRestated ? ruleConstants.forever_ms.value : workBounds.near_break_days * DAY_MS);
  if (!isRestated) {
    const { open } = await readRow<{ open: boolean }>(context, 'check_judging_ends');
    if (open) await find(ruleConstants.forever_ms.value);
  }
  if (context.runAll) await runStatement(context, 'judge_everything');
  return true;
}

async function judge(context: RollUpContext): Promise<boolean> {
  let verdicts = await judgeAll(context);
  const open = verdicts.filter(({ isOpen }) => isOpen);
  if (open.length > 0) {
    const ends = endsOf(open, ruleConstants.forever_ms.value);
    await runStatement(context, 'extend_judging', { ends: JSON.stringify(ends) });
    verdicts = await judgeAll(context);
  }
  const events = verdicts.flatMap((verdict) =>
    verdict.events.map((event) => eventRow(verdict.seriesId, event)),
  );
  const ends = endsOf(verdicts.filter(({ endMs }) => endMs !== undefined));
  const decided = verdicts.flatMap((verdict) =>
    [...verdict.redecided].map(([to_ms, decided_ms]) => ({ series_id: verdict.seriesId, to_ms, decided_ms })),
  );
  if (decided.length > 0)
    await runStatement(context, 'store_decided_times', { decided: JSON.stringify(decided) });
  const found = { events: JSON.stringify(events), ends: JSON.stringify(ends) };
  if ((await runStatement(context, 'collect_changed_events', found)) === 0) return false;
  await runStatement(context, 'delete_events');
  await runStatement(context, 'store_events');
  return true;
}

/** For each series, the ends of the range with the breaks to judge. */
function endsOf(verdicts: readonly SeriesVerdict[], toMs?: UtcMs) {
  return verdicts.map(({ seriesId, endMs }) => ({ series_id: seriesId, to_ms: toMs ?? endMs }));
}

/** Judges the breaks of all series; if there are many breaks, some series at a time. */
async function judgeAll(context: RollUpContext): Promise<SeriesVerdict[]> {
  const hasRegisterChanges = rowsOf(context, 'register_change') > 0 || context.runAll;
  const changes = hasRegisterChanges ? await readRows<ChangeRow>(context, 'list_register_changes') : [];
  const series = await readRows<SeriesRow>(context, 'list_judged_series');
  const seriesById = new Map(series.map((row) => [row.series_id, row]));
  const verdicts: SeriesVerdict[] = [];
  const parts = await countParts(context);
  for (let part = 0n; part < parts; part++) {
    const rows = await readRows<BreakRow>(context, 'list_breaks_to_judge', { part, parts });
    for (const verdict of judgeBreakRows(rows, seriesById, changes)) verdicts.push(verdict);
  }
  return verdicts;
}

async function countParts(context: RollUpContext): Promise<bigint> {
  const series = rowsOf(context, 'judging_range');
  if (series <= 1) return 1n;
  const { breaks } = await readRow<{ breaks: bigint }>(context, 'count_breaks_to_judge');
  return BigInt(Math.min(series, Math.ceil((Number(breaks) + 1) / workBounds.breaks_at_once_max)));
}

function eventRow(seriesId: number, event: EnergyEvent) {
  return {
    series_id: seriesId,
    kind: event.kind,
    from_ms: event.fromMs,
    to_ms: event.toMs,
    value_before: event.valueBefore,
    value_after: event.valueAfter,
    energy_wh: event.energyWh,
  };
}
