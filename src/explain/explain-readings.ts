import type { DuckDBConnection } from '@duckdb/node-api';
import { formatInstantOrNull } from '../lib/time.ts';
import { query } from '../warehouse/query.ts';
import type { Series } from './explain-series.ts';
import { instant, plainNumber } from './explain-words.ts';
import { type Day, EXPLAINED_ROWS_MAX, type Span } from './explained-day.ts';
import type { Event, ExplainedReading } from './explained-schema.ts';

/** The range of a day, extended by the readings before and after it that the day needs. */
export async function readBracket(
  connection: DuckDBConnection,
  { seriesId }: Series,
  { startMs, endMs }: Day,
): Promise<Span> {
  const [row] = await query<{ low_ms: number | null; high_ms: number | null }>(
    connection,
    'explain/find_bracket',
    { series_id: seriesId, start_ms: BigInt(startMs), end_ms: BigInt(endMs) },
  );
  return { fromMs: row?.low_ms ?? startMs, toMs: row?.high_ms ?? endMs };
}

type ReadingRow = {
  event_time_ms: number;
  value: number | null;
  fate: ExplainedReading['fate'];
  reason: string | null;
  detail: string | null;
  batch_id: bigint;
  landed_at_ms: number | null;
  readings: number;
};

/** Everything received for a series in the bracket, with the fate of each reading. */
export async function readReadings(
  connection: DuckDBConnection,
  { seriesId, device, source, field, as }: Series,
  bracket: Span,
): Promise<{ readings: ExplainedReading[]; leftOut: number }> {
  const rows = await query<ReadingRow>(connection, 'explain/find_readings', {
    series_id: seriesId,
    device,
    // Rejected readings are stored with the source that their message names.
    source: as === null ? source : null,
    field,
    low_ms: BigInt(bracket.fromMs),
    high_ms: BigInt(bracket.toMs),
    rows_max: EXPLAINED_ROWS_MAX,
  });
  const readings = rows.map(
    (row): ExplainedReading => ({
      time: instant(row.event_time_ms),
      value: row.value,
      fate: row.fate,
      reason: row.reason,
      text: row.detail,
      indexWh: null,
      batch: String(row.batch_id),
      landedAt: formatInstantOrNull(row.landed_at_ms),
    }),
  );
  return { readings, leftOut: (rows[0]?.readings ?? 0) - rows.length };
}

type EventRow = {
  kind: Event['kind'];
  from_ms: number;
  to_ms: number;
  value_before: number | null;
  value_after: number | null;
  energy_wh: number;
};

/** The events of a series in the bracket. */
export async function readEvents(
  connection: DuckDBConnection,
  { seriesId, method }: Series,
  bracket: Span,
  { clock }: Day,
): Promise<Event[]> {
  const rows = await query<EventRow>(connection, 'explain/find_events', {
    series_id: seriesId,
    low_ms: BigInt(bracket.fromMs),
    high_ms: BigInt(bracket.toMs),
  });
  return rows.map((row) => ({
    kind: row.kind,
    from: instant(row.from_ms),
    to: instant(row.to_ms),
    valueBefore: row.value_before,
    valueAfter: row.value_after,
    energyWh: row.energy_wh,
    text: eventText(row, clock, method === 'power_curve' ? 'W' : 'Wh'),
  }));
}

/** An event as a sentence. */
export function eventText(event: EventRow, clock: Day['clock'], unit: 'W' | 'Wh'): string {
  const [before, after] = [event.value_before, event.value_after].map((value) =>
    value === null ? '?' : plainNumber(value),
  );
  const [from, to] = [clock(event.from_ms), clock(event.to_ms)];
  const when = from === to ? `at ${from}` : `from ${from} to ${to}`;
  const step = `between ${from} and ${to} from ${before} to ${after} ${unit}`;
  const booked = `${plainNumber(event.energy_wh)} Wh are booked`;
  switch (event.kind) {
    case 'reset':
      return `started again ${step}: what it shows since then counts, ${plainNumber(event.energy_wh)} Wh`;
    case 'rollover':
      return `passed its modulus ${step}: ${booked}`;
    case 'register_change':
      return `was changed, as declared, ${step}: ${booked}`;
    case 'rebase':
      return `jumped impossibly ${step} and stayed: nothing is booked`;
    case 'glitch':
      return `low ${when} (${after} ${unit} after ${before} ${unit}) and no restart: left out`;
    case 'spike':
      return `impossibly high ${when} (${after} ${unit} after ${before} ${unit}): left out`;
    case 'standstill':
      return `stood still ${when} at ${before} ${unit} and then showed ${after} ${unit}, which it can have counted in that time: spread over it`;
    case 'jitter':
    case 'carry_over':
    case 'gap':
    case 'midnight':
      return step;
    default:
      return event.kind satisfies never;
  }
}
