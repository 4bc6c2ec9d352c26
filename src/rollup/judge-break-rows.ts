import type { EnergyMethod } from '../config/energy-stream.ts';
import type { UtcMs } from '../lib/time.ts';
import { classifyBreaks } from './classify-breaks.ts';
import { findPowerSpikes } from './find-power-spikes.ts';
import type { EnergyEvent, RegisterRule, SeriesBreak } from './register-rule.ts';
import { ruleConstants } from './rule-constants.ts';

/** A row of statement `list_judged_series`. */
export type SeriesRow = {
  series_id: number;
  method: EnergyMethod;
  judging_to_ms: bigint;
  changed_ms: bigint;
  is_learnt: boolean;
  modulus_wh: number | null;
  first_ms: bigint;
  first_value: number;
  last_ms: bigint;
};
/** A row of statement `list_breaks_to_judge`. */
export type BreakRow = {
  series_id: number;
  from_ms: bigint;
  from_value: number;
  to_ms: bigint;
  to_value: number;
  decided_ms: bigint | null;
  is_start: boolean;
  max_power_w: number | null;
  max_power_after_reset_w: number | null;
  jitter_wh: number;
  is_beyond: boolean;
  standstill_since_ms: bigint | null;
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
   * The breaks with a changed decided time, with the new time; null: the register is not believed at the
   * break.
   */
  redecided: ReadonlyMap<UtcMs, UtcMs | null>;
  /** The time of the first break that the change does not reach; undefined if all breaks were judged. */
  endMs?: UtcMs;
  /** True if later breaks must be judged too, because the change may reach them. */
  isOpen: boolean;
}

/**
 * Judges breaks, series by series.
 * @param seriesById the series of all breaks
 */
export function judgeBreakRows(
  rows: readonly BreakRow[],
  seriesById: ReadonlyMap<number, SeriesRow>,
  changes: readonly ChangeRow[],
): SeriesVerdict[] {
  const judgedTogether = Map.groupBy(rows, (row) => `${row.series_id} ${row.day_ms}`).values();
  return [...judgedTogether].map((breaks) => {
    const { series_id } = breaks[0]!;
    return judgeTogether(
      breaks,
      seriesById.get(series_id)!,
      changes.filter((change) => change.series_id === series_id),
    );
  });
}

/** Judges the breaks of a series, or of one day of a daily register. */
function judgeTogether(
  rows: readonly BreakRow[],
  series: SeriesRow,
  changes: readonly ChangeRow[],
): SeriesVerdict {
  const seriesId = series.series_id;
  const breaks = rows.filter((row) => !row.is_start);
  if (series.method === 'power_curve' || series.method === 'interval_energy') {
    // A reading of power depends only on itself and on the next break.
    const events = findPowerSpikes(
      breaks.map((row) => ({ ...readBreak(row), isBeyond: row.is_beyond })),
      { learnt: series.is_learnt },
    );
    return {
      seriesId,
      events: eventsUntil(events, Number(series.judging_to_ms)),
      redecided: new Map(),
      isOpen: false,
    };
  }
  const start = rows.find((row) => row.is_start);
  const { events, decided } = classifyBreaks(breaks.map(readBreak), {
    ...ruleOf(series, rows[0]!, changes),
    ...(start && {
      start: { ms: Number(start.to_ms), value: start.to_value, lookedMs: Number(start.decided_ms) },
    }),
  });
  const foreverMs = ruleConstants.forever_ms.value;
  const isLast = series.method !== 'total_energy' || series.judging_to_ms >= BigInt(foreverMs);
  // This is the first break after the change that is decided at the same time as before. So all later breaks
  // are the same.
  const end = isLast
    ? undefined
    : breaks.find(({ to_ms, decided_ms }) => {
        const decidedMs = decided.get(Number(to_ms));
        return to_ms > series.changed_ms && decidedMs === Number(decided_ms ?? -1) && decidedMs < foreverMs;
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
    fromValue: row.from_value,
    toMs: Number(row.to_ms),
    toValue: row.to_value,
    maxPowerW: row.max_power_w ?? undefined,
    maxPowerAfterResetW: row.max_power_after_reset_w ?? undefined,
    jitterWh: row.jitter_wh,
    standstillSinceMs: row.standstill_since_ms === null ? undefined : Number(row.standstill_since_ms),
  };
}

/** @param row a break of the day, for the readings around its start */
function ruleOf(series: SeriesRow, row: BreakRow, changes: readonly ChangeRow[]): RegisterRule {
  return {
    learnt: series.is_learnt,
    modulusWh: series.modulus_wh ?? undefined,
    firstReadingMs: Number(series.first_ms),
    firstReadingValue: series.first_value,
    lastReadingMs: Number(series.last_ms),
    changes: changes.map((change) => ({
      atMs: Number(change.at_ms),
      finalValue: change.final_value,
      initialValue: change.initial_value,
    })),
    restartsDaily: series.method === 'daily_energy',
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
