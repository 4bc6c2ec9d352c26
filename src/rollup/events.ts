import type { DuckDBConnection } from '@duckdb/node-api';
import type { EnergyMethod } from '../energy-stream.ts';
import { query } from '../warehouse/query.ts';
import { classifyBreaks } from './classify-breaks.ts';
import { findPowerSpikes } from './power-spikes.ts';
import type { EnergyEvent, RegisterRule, SeriesBreak } from './register-rule.ts';

type BreakRow = {
  series_id: number;
  method: EnergyMethod;
  max_power_w: number | null;
  recount_power_w: number | null;
  learnt: boolean;
  jitter_wh: number;
  modulus_wh: number | null;
  series_ms: bigint;
  last_ms: bigint;
  from_ms: bigint | null;
  from_value: number | null;
  to_ms: bigint | null;
  to_value: number | null;
  day_ms: bigint | null;
  before_ms: bigint | null;
  before_value: number | null;
  first_ms: bigint | null;
  first_value: number | null;
};
type ChangeRow = { series_id: number; at_ms: bigint; final_value: number; initial_value: number };

/**
 * Decides what the breaks of the series in context are, from all their breaks, and stores the events that have changed.
 * @returns whether any has; table `changed_event` then tells which series and times
 */
export async function classifySeries(connection: DuckDBConnection): Promise<boolean> {
  const rows = await query<BreakRow>(connection, 'rollup/context-breaks');
  const changes = await query<ChangeRow>(connection, 'rollup/context-register-changes');
  const judgedTogether = Map.groupBy(rows, (row) => `${row.series_id} ${row.day_ms}`).values();
  const events = [...judgedTogether].flatMap((breaks) => {
    const seriesId = breaks[0]!.series_id;
    const own = changes.filter((change) => change.series_id === seriesId);
    return judge(readBreaks(breaks), breaks[0]!, own).map((event) => eventRow(seriesId, event));
  });
  await query(connection, 'rollup/add-events', { events: JSON.stringify(events) });
  await query(connection, 'rollup/changed-events');
  const [changed] = await query<{ count: bigint }>(connection, 'rollup/count-changed-events');
  if (changed!.count === 0n) return false;
  await query(connection, 'rollup/forget-events');
  await query(connection, 'rollup/store-events');
  return true;
}

function readBreaks(rows: readonly BreakRow[]): SeriesBreak[] {
  return rows
    .filter((row) => row.from_ms !== null)
    .map((row) => ({
      fromMs: Number(row.from_ms),
      fromValue: row.from_value!,
      toMs: Number(row.to_ms),
      toValue: row.to_value!,
    }));
}

function judge(breaks: readonly SeriesBreak[], row: BreakRow, changes: readonly ChangeRow[]): EnergyEvent[] {
  return row.method === 'power_curve' || row.method === 'interval_energy'
    ? findPowerSpikes(breaks, { learnt: row.learnt, lastReadingMs: Number(row.last_ms) })
    : classifyBreaks(breaks, ruleOf(row, changes));
}

function ruleOf(row: BreakRow, changes: readonly ChangeRow[]): RegisterRule {
  return {
    maxPowerW: row.max_power_w ?? undefined,
    recountPowerW: row.recount_power_w ?? undefined,
    learnt: row.learnt,
    jitterWh: row.jitter_wh,
    modulusWh: row.modulus_wh ?? undefined,
    firstReadingMs: Number(row.series_ms),
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
