import type { DuckDBConnection } from '@duckdb/node-api';
import { TerminalError } from '../lib/errors.ts';
import type { UtcMs } from '../lib/time.ts';
import { loadSql } from '../warehouse/load-sql.ts';
import { query, queryLiterally } from '../warehouse/query.ts';
import type { Commit } from './commit-schema.ts';
import { isOver, type Period, periodKind, widen } from './lake-period.ts';
import { filesByPeriod, type Piece, window } from './lake-piece.ts';

/** Datasets by UTC day, with the statements that list their days and count rows. */
const dayDatasets = {
  interval_energy: { days: 'publish/find_interval_days', count: 'publish/count_intervals' },
  device_status: { days: 'publish/find_device_status_days', count: 'publish/count_device_status' },
  rejected_reading: { days: 'publish/find_rejected_days', count: 'publish/count_rejected' },
} as const;

/**
 * If more days of an ended month have changed, the month is written as one file, because each file takes
 * about 10 ms.
 */
const DAYS_MAX = 4;

/** Months up to this size are written as a whole, because sorting takes memory. */
const MONTH_ROWS_MAX = 500_000;

type Size = { row_count: number; energy_wh?: number };

/** A file has a UTC day, or a merged month after its end. */
export async function findByDay(
  connection: DuckDBConnection,
  dataset: keyof typeof dayDatasets,
  head: Commit | undefined,
  marked: ReadonlySet<Period>,
  nowMs: UtcMs,
): Promise<Piece[]> {
  const statements = dayDatasets[dataset];
  const sizeOf = async (period: Period) =>
    (await queryLiterally<Size>(connection, loadSql(statements.count), window(period)))[0]!;
  let days: Iterable<Period> = marked;
  if (!head) {
    const found = await query<{ day: Period }>(connection, statements.days);
    days = found.map(({ day }) => day);
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
        // A month also replaces the files of its days.
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
