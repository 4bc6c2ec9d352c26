import type { EnergyMethod } from '../config/energy-stream.ts';
import { DAY_MS } from '../lib/time.ts';
import { classifyBreaks } from './classify-breaks.ts';
import { findPowerSpikes } from './power-spikes.ts';
import type { EnergyEvent, RegisterRule, SeriesBreak } from './register-rule.ts';
import { ruleConstants, workBounds } from './rules.ts';
import type { Scope } from './scope.ts';
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

type BreakRow = {
  series_id: number;
  method: EnergyMethod;
  after_ms: bigint | null;
  judged_to_ms: bigint;
  changed_ms: bigint;
  learnt: boolean;
  max_power_w: number | null;
  recount_power_w: number | null;
  is_beyond: boolean;
  jitter_wh: number;
  modulus_wh: number | null;
  series_ms: bigint;
  series_value: number;
  last_ms: bigint;
  from_ms: bigint | null;
  from_value: number | null;
  to_ms: bigint | null;
  to_value: number | null;
  decided_ms: bigint | null;
  still_ms: bigint | null;
  is_start: boolean;
  day_ms: bigint | null;
  before_ms: bigint | null;
  before_value: number | null;
  first_ms: bigint | null;
  first_value: number | null;
};
type ChangeRow = { series_id: number; at_ms: bigint; final_value: number; initial_value: number };

async function judge(working: Working): Promise<boolean> {
  let verdicts = await judgeAll(working);
  if (verdicts.some(({ isOpen }) => isOpen)) {
    await judgeUpTo(
      working,
      verdicts.filter(({ isOpen }) => isOpen),
      ruleConstants.forever_ms.value,
    );
    verdicts = await judgeAll(working);
  }
  await judgeUpTo(
    working,
    verdicts.filter(({ endMs }) => endMs !== undefined),
  );
  const events = verdicts.flatMap((one) => one.events.map((event) => eventRow(one.seriesId, event)));
  await run(working, 'take_events', { events: JSON.stringify(events) });
  const decided = verdicts.flatMap((one) =>
    [...one.redecided].map(([to_ms, decided_ms]) => ({ series_id: one.seriesId, to_ms, decided_ms })),
  );
  if (decided.length > 0) await run(working, 'store_decided', { decided: JSON.stringify(decided) });
  if ((await run(working, 'find_event_changes')) === 0) return false;
  await run(working, 'forget_events');
  await run(working, 'store_events');
  return true;
}

interface Verdict {
  seriesId: number;
  events: readonly EnergyEvent[];
  /** Breaks by their time for which readings were looked at up to another time than before; null: at such a break the register is not believed. */
  redecided: ReadonlyMap<number, number | null>;
  /** Judging ends at this break, because from there on nothing is different; undefined where it goes on to the last one. */
  endMs?: number;
  /** Later breaks have to be judged as well, because nothing says that they are the same as before. */
  isOpen: boolean;
}

async function judgeUpTo(working: Working, verdicts: readonly Verdict[], toMs?: number): Promise<void> {
  if (verdicts.length === 0) return;
  const ends = verdicts.map(({ seriesId, endMs }) => ({ series_id: seriesId, to_ms: toMs ?? endMs }));
  await run(working, 'judge_up_to', { ends: JSON.stringify(ends) });
}

async function judgeAll(working: Working): Promise<Verdict[]> {
  const rows = await list<BreakRow>(working, 'breaks_to_judge');
  const changes = await list<ChangeRow>(working, 'register_changes_to_judge');
  const judgedTogether = Map.groupBy(rows, (row) => `${row.series_id} ${row.day_ms}`).values();
  return [...judgedTogether].map((breaks) => {
    const { series_id } = breaks[0]!;
    return judgeTogether(
      breaks,
      changes.filter((change) => change.series_id === series_id),
    );
  });
}

/** Judges the breaks of a series, or of one of its days where it restarts every day. */
function judgeTogether(rows: readonly BreakRow[], changes: readonly ChangeRow[]): Verdict {
  const first = rows[0]!;
  const seriesId = first.series_id;
  const breaks = rows.filter((row) => row.from_ms !== null && !row.is_start);
  if (first.method === 'power_curve' || first.method === 'interval_energy') {
    // A reading of power is judged by itself and by the break after it.
    const powerBreaks = breaks.map((row) => ({ ...readBreak(row), isBeyond: row.is_beyond }));
    const events = findPowerSpikes(powerBreaks, { learnt: first.learnt });
    return {
      seriesId,
      events: until(events, Number(first.judged_to_ms)),
      redecided: new Map(),
      isOpen: false,
    };
  }
  const start = rows.find((row) => row.is_start);
  const { events, decided } = classifyBreaks(breaks.map(readBreak), {
    ...ruleOf(first, changes),
    ...(start && {
      start: { ms: Number(start.to_ms), value: start.to_value!, lookedMs: Number(start.decided_ms) },
    }),
  });
  const foreverMs = ruleConstants.forever_ms.value;
  const isLast = first.method !== 'total_energy' || first.judged_to_ms >= BigInt(foreverMs);
  // Judged as before without a look at where the judged breaks end: the breaks after it are what they were.
  const end = isLast
    ? undefined
    : breaks.find(({ to_ms, changed_ms, decided_ms }) => {
        const decidedMs = decided.get(Number(to_ms));
        return to_ms! > changed_ms && decidedMs === Number(decided_ms ?? -1) && decidedMs < foreverMs;
      });
  const endMs = end ? Number(end.to_ms) : foreverMs;
  const redecided = new Map<number, number | null>();
  for (const { to_ms, decided_ms } of breaks) {
    const decidedMs = decided.get(Number(to_ms)) ?? null;
    if (Number(to_ms) <= endMs && decidedMs !== (decided_ms === null ? null : Number(decided_ms)))
      redecided.set(Number(to_ms), decidedMs);
  }
  return {
    seriesId,
    events: until(events, endMs),
    redecided,
    ...(end && { endMs }),
    isOpen: !isLast && breaks.length > 0 && !end,
  };
}

function until(events: readonly EnergyEvent[], endMs: number): readonly EnergyEvent[] {
  return events.filter(({ toMs }) => toMs <= endMs);
}

function readBreak(row: BreakRow): SeriesBreak {
  return {
    fromMs: Number(row.from_ms),
    fromValue: row.from_value!,
    toMs: Number(row.to_ms),
    toValue: row.to_value!,
    maxPowerW: row.max_power_w ?? undefined,
    recountPowerW: row.recount_power_w ?? undefined,
    jitterWh: row.jitter_wh,
    stillMs: row.still_ms === null ? undefined : Number(row.still_ms),
  };
}

function ruleOf(row: BreakRow, changes: readonly ChangeRow[]): RegisterRule {
  return {
    learnt: row.learnt,
    modulusWh: row.modulus_wh ?? undefined,
    firstReadingMs: Number(row.series_ms),
    firstReadingValue: row.series_value,
    lastReadingMs: Number(row.last_ms),
    changes: changes.map((change) => ({
      atMs: Number(change.at_ms),
      finalValue: change.final_value,
      initialValue: change.initial_value,
    })),
    restartsDaily: row.method === 'daily_energy',
    morning:
      row.first_ms === null
        ? undefined
        : {
            dayMs: Number(row.day_ms),
            beforeMs: Number(row.before_ms),
            beforeValue: row.before_value!,
            firstMs: Number(row.first_ms),
            firstValue: row.first_value!,
          },
  };
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
