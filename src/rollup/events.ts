import { DAY_MS, type UtcMs } from '../lib/time.ts';
import type { EnergyEvent } from './register-rule.ts';
import { ruleConstants, workBounds } from './rules.ts';
import type { Scope } from './scope.ts';
import { type BreakRow, type ChangeRow, judgeRows, type Verdict } from './verdicts.ts';
import { ask, type Bounds, list, rowsOf, run, type Working } from './working.ts';

/**
 * Finds the breaks in scope, and where any has changed judges what they are now.
 * @param options.isRestated rules have changed, so every break in scope is judged again
 * @param options.leastPowerW see statement `least_power`
 * @returns whether events have come, gone or changed; table `changed_event` has them
 */
export async function judgeBreaks(
  working: Working,
  { bounds, methods, breaks }: Scope,
  { isRestated, leastPowerW }: { isRestated: boolean; leastPowerW: number | null },
): Promise<boolean> {
  const { runAll = false } = working;
  const changed = await run(working, 'find_break_changes', {
    ...bounds,
    least_power_w: leastPowerW,
    of_power: methods.has('power_curve') || methods.has('interval_energy') || runAll,
    changes: rowsOf(working, 'register_change') > 0 || runAll,
  });
  if (changed > 0) {
    await run(working, 'forget_breaks');
    await run(working, 'store_breaks');
  }
  // Without any of these no break is there that `find_judged` could find. Limits that have changed are those of breaks of their days.
  const isWanted = changed > 0 || breaks || isRestated || runAll;
  if (!isWanted) return false;
  return (await findJudged(working, bounds, isRestated)) && (await judge(working));
}

/** Breaks so near a change are looked at first; where that is not enough, all are. */
const NEAR_MS = 30 * DAY_MS;

/** Finds which breaks are judged again, in table `judged`. @returns whether there are any */
async function findJudged(working: Working, bounds: Bounds, isRestated: boolean): Promise<boolean> {
  const find = (nearMs: number) =>
    run(working, 'find_judged', {
      ...bounds,
      ahead: workBounds.decided_ahead,
      is_restated: isRestated,
      near_ms: BigInt(nearMs),
    });
  if ((await find(NEAR_MS)) === 0) return false;
  const { open } = await ask<{ open: boolean }>(working, 'judged_ends');
  if (open) await find(ruleConstants.forever_ms.value);
  if (working.runAll) await run(working, 'judge_everything');
  return true;
}

async function judge(working: Working): Promise<boolean> {
  let verdicts = await judgeAll(working);
  const open = verdicts.filter(({ isOpen }) => isOpen);
  if (open.length > 0) {
    const ends = endsOf(open, ruleConstants.forever_ms.value);
    await run(working, 'judge_up_to', { ends: JSON.stringify(ends) });
    verdicts = await judgeAll(working);
  }
  const events = verdicts.flatMap((one) => one.events.map((event) => eventRow(one.seriesId, event)));
  const ends = endsOf(verdicts.filter(({ endMs }) => endMs !== undefined));
  const decided = verdicts.flatMap((one) =>
    [...one.redecided].map(([to_ms, decided_ms]) => ({ series_id: one.seriesId, to_ms, decided_ms })),
  );
  if (decided.length > 0) await run(working, 'store_decided', { decided: JSON.stringify(decided) });
  const found = { events: JSON.stringify(events), ends: JSON.stringify(ends) };
  if ((await run(working, 'find_event_changes', found)) === 0) return false;
  await run(working, 'forget_events');
  await run(working, 'store_events');
  return true;
}

/** Up to where the breaks of each series are judged. */
function endsOf(verdicts: readonly Verdict[], toMs?: UtcMs) {
  return verdicts.map(({ seriesId, endMs }) => ({ series_id: seriesId, to_ms: toMs ?? endMs }));
}

/** As many rows of breaks take some 60 MB. */
const BREAKS_MAX = 20_000;

/** Judges the breaks of all series, of some series at a time where there are many. */
async function judgeAll(working: Working): Promise<Verdict[]> {
  const hasChanges = rowsOf(working, 'register_change') > 0 || working.runAll;
  const changes = hasChanges ? await list<ChangeRow>(working, 'register_changes_to_judge') : [];
  const verdicts: Verdict[] = [];
  const parts = await countParts(working);
  for (let part = 0n; part < parts; part++) {
    const rows = await list<BreakRow>(working, 'breaks_to_judge', { part, parts });
    for (const verdict of judgeRows(rows, changes)) verdicts.push(verdict);
  }
  return verdicts;
}

async function countParts(working: Working): Promise<bigint> {
  const series = rowsOf(working, 'judged');
  if (series <= 1) return 1n;
  const { breaks } = await ask<{ breaks: bigint }>(working, 'count_judged');
  return BigInt(Math.min(series, Math.ceil((Number(breaks) + 1) / BREAKS_MAX)));
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
