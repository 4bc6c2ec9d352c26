import type { DuckDBConnection } from '@duckdb/node-api';
import { TerminalError } from '../lib/errors.ts';
import type { UtcMs } from '../lib/time.ts';
import { query } from '../warehouse/query.ts';
import type { Commit } from './lake-commit.ts';
import { isOver, type Period, periodKind, periodOf, widen } from './lake-period.ts';
import { filesByPeriod, type Piece, window } from './lake-piece.ts';

/** Datasets by UTC day, and the statements that list their days and count the rows of one. */
const dayDatasets = {
  interval_energy: { days: 'publish/find_interval_days', count: 'publish/count_intervals' },
  device_status: { days: 'publish/find_device_status_days', count: 'publish/count_device_status' },
  rejected_reading: { days: 'publish/find_rejected_days', count: 'publish/count_rejected' },
} as const;

/** Of a month that is over, more changed days than this are written as the month that they would be merged to: each file takes some 10 ms. */
const DAYS_MAX = 4;

/** Months are written as a whole up to this size, so that sorting them takes little memory. */
const MONTH_ROWS_MAX = 500_000;

type Size = { row_count: number; energy_wh?: number };

/** A file holds a UTC day, or a month once the month is over and its days were merged. */
export async function findByDay(
  connection: DuckDBConnection,
  dataset: keyof typeof dayDatasets,
  head: Commit | undefined,
  marked: ReadonlySet<Period>,
  nowMs: UtcMs,
): Promise<Piece[]> {
  const statements = dayDatasets[dataset];
  const sizeOf = async (period: Period) =>
    (await query<Size>(connection, statements.count, window(period)))[0]!;
  let days: Iterable<Period> = marked;
  if (!head) {
    const found = await query<{ day_start_ms: number }>(connection, statements.days);
    days = found.map(({ day_start_ms }) => periodOf(day_start_ms, 'day'));
  }
  const old = filesByPeriod(head, dataset);
  const pieces: Piece[] = [];
  for (const [month, daysOfMonth] of Map.groupBy([...days].sort(), monthOf)) {
    const isMany = daysOfMonth.length > DAYS_MAX && isOver(month, nowMs);
    const isWhole = old.has(month) || (isMany && (await sizeOf(month)).row_count <= MONTH_ROWS_MAX);
    for (const period of isWhole ? [month] : daysOfMonth) {
      const { row_count: rows, energy_wh: energyWh } = await sizeOf(period);
      pieces.push({
        dataset,
        folder: `month=${month}`,
        period,
        parameters: window(period),
        rows,
        ...(energyWh !== undefined && { energyWh }),
        // A month replaces the files of its days too.
        replaces: [...old].flatMap(([one, files]) => (one.startsWith(period) ? files : [])),
      });
    }
  }
  return pieces;

  function monthOf(day: Period): Period {
    if (periodKind(day) === 'day') return widen(day, 'month');
    throw new TerminalError(
      'UnknownPeriod',
      `dirty_partition names "${day}" of ${dataset}, which is not a day`,
    );
  }
}
