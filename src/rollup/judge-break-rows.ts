import type { EnergyMethod } from '../config/energy-stream.ts';
import type { UtcMs } from '../lib/time.ts';
import { classifyBreaks } from './classify-breaks.ts';
import { findPowerSpikes } from './find-power-spikes.ts';
import type { EnergyEvent, RegisterRule, SeriesBreak } from './register-rule.ts';
import { ruleConstants } from './rule-constants.ts';

/** A row of statement `list_breaks_to_judge`. */
export type BreakRow = {
  series_id: number;
  method: EnergyMethod;
  after_ms: bigint | null;
  judging_to_ms: bigint;
  changed_ms: bigint;
  learnt: boolean;
  max_power_w: number | null;
  max_power_after_reset_w: number | null;
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
  standstill_since_ms: bigint | null;
  is_start: boolean;
  day_ms: bigint | null;
  before_ms: bigint | null;
  before_value: number | null;
  first_ms: bigint | null;
  first_value: number | null;
};
/** A row of statement `list_register_changes`. */
export type ChangeRow = { series_id: number; at_ms: bigint; final_value: number; initial_value: number };

/** The result for breaks of a series that were judged together. */
export interface SeriesVerdict {
  seriesId: number;
  events: readonly EnergyEvent[];
  /**
   * The breaks whose decided time has changed, with the new time; null: the register is not believed at the
   * break.
   */
  redecided: ReadonlyMap<UtcMs, UtcMs | null>;
  /** The time of the break after which nothing is different; undefined if all breaks were judged. */
  endMs?: UtcMs;
  /** True if later breaks must be judged too, because no break was found after which nothing is different. */
  isOpen: boolean;
}

/** Judges breaks, series by series. */
export function judgeBreakRows(rows: readonly BreakRow[], changes: readonly ChangeRow[]): SeriesVerdict[] {
  const judgedTogether = Map.groupBy(rows, (row) => `${row.series_id} ${row.day_ms}`).values();
  return [...judgedTogether].map((breaks) => {
    const { series_id } = breaks[0]!;
    return judgeTogether(
      breaks,
      changes.filter((change) => change.series_id === series_id),
    );
  });
}

/** Judges the breaks of a series, or of one day of a daily register. */
function judgeTogether(rows: readonly BreakRow[], changes: readonly ChangeRow[]): SeriesVerdict {
  const first = rows[0]!;
  const seriesId = first.series_id;
  const breaks = rows.filter((row) => row.from_ms !== null && !row.is_start);
  if (first.method === 'power_curve' || first.method === 'interval_energy') {
    // A reading of power depends only on itself and on the next break.
    const events = findPowerSpikes(
      breaks.map((row) => ({ ...readBreak(row), isBeyond: row.is_beyond })),
      { learnt: first.learnt },
    );
    return {
      seriesId,
      events: eventsUntil(events, Number(first.judging_to_ms)),
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
  const isLast = first.method !== 'total_energy' || first.judging_to_ms >= BigInt(foreverMs);
  // The first break after the change with the same decided time as before: all later breaks are the same.
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
    events: eventsUntil(events, endMs),
    redecided,
    ...(end && { endMs }),
    isOpen: !isLast && breaks.length > 0 && !end,
  };
}

function eventsUntil(events: readonly EnergyEvent[], endMs: number): readonly EnergyEvent[] {
  return events.filter(({ toMs }) => toMs <= endMs);
}

function readBreak(row: BreakRow): SeriesBreak {
  return {
    fromMs: Number(row.from_ms),
    fromValue: row.from_value!,
    toMs: Number(row.to_ms),
    toValue: row.to_value!,
    maxPowerW: row.max_power_w ?? undefined,
    maxPowerAfterResetW: row.max_power_after_reset_w ?? undefined,
    jitterWh: row.jitter_wh,
    standstillSinceMs: row.standstill_since_ms === null ? undefined : Number(row.standstill_since_ms),
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
