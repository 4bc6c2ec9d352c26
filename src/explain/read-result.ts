import type { DuckDBConnection } from '@duckdb/node-api';
import type { EnergyMethod } from '../config/energy-stream.ts';
import { query } from '../warehouse/query.ts';
import { wattHours } from './explain-power.ts';
import type { Series } from './explain-series.ts';
import { instant } from './explain-words.ts';
import type { Day } from './explained-day.ts';
import type { Interval, Result } from './explained-schema.ts';

/** The reported intervals of a series on a day. */
export async function readIntervals(
  connection: DuckDBConnection,
  { seriesId }: Series,
  { startMs, endMs }: Day,
): Promise<Interval[]> {
  const rows = await query<{
    start_ms: number;
    energy_wh: number;
    exact_nwh: bigint | null;
    covered_ms: number;
  }>(connection, 'explain/find_intervals', {
    series_id: seriesId,
    start_ms: BigInt(startMs),
    end_ms: BigInt(endMs),
  });
  return rows.map((row) => ({
    start: instant(row.start_ms),
    energyWh: row.energy_wh,
    exactWh: row.exact_nwh === null ? null : wattHours(String(row.exact_nwh)),
    coveredMilliseconds: row.covered_ms,
  }));
}

/** The reported energy of a day as stored. */
type StoredResult = Omit<Result, 'table' | 'field'> & { streamId: number };

/** The reported energy of a day; null if it has none. */
export async function readResult(
  connection: DuckDBConnection,
  key: { device: string; source: string },
  { day }: Day,
  namesOf: (bits: number) => string[],
): Promise<StoredResult | null> {
  const [row] = await query<{
    energy_wh: number;
    method: EnergyMethod;
    stream_id: number;
    flags: number;
    coverage: number;
    status: Result['status'];
    version: number;
    computed_at_ms: number;
  }>(connection, 'explain/find_day', { ...key, day });
  return row === undefined
    ? null
    : {
        energyWh: row.energy_wh,
        method: row.method,
        status: row.status,
        version: row.version,
        computedAt: instant(row.computed_at_ms),
        coverage: row.coverage,
        flags: namesOf(row.flags),
        streamId: row.stream_id,
      };
}

/** Adds the table and the field of the stream. */
export function withField({ streamId, ...stored }: StoredResult, series: readonly Series[]): Result {
  const own = series.find((one) => one.streamId === streamId);
  return { ...stored, table: own?.table ?? '', field: own?.field ?? '' };
}

/** The meanings of the flags, and the names of flag bits. */
export async function readFlags(connection: DuckDBConnection) {
  const rows = await query<{ bit: number; flag: string; meaning: string }>(connection, 'explain/list_flags');
  return {
    meanings: new Map(rows.map(({ flag, meaning }) => [flag, meaning])),
    namesOf: (bits: number) => rows.filter(({ bit }) => bits & bit).map(({ flag }) => flag),
  };
}
