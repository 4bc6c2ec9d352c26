import { createHash } from 'node:crypto';
import type { DuckDBConnection } from '@duckdb/node-api';
import type { LocalDate } from '../lib/time.ts';
import { type ColumnName, columnType } from '../report/rows/row-columns.ts';
import type { RowSelect } from '../report/rows/row-select.ts';
import { queryText } from '../warehouse/query.ts';

/** The fingerprint of the rows of a day. Only energy counts: a new status is not a change. */
export interface DayFingerprint {
  day: LocalDate;
  rows: number;
  /** Wh. For a variance and a reconciliation it is the difference. */
  energyWh: number;
  hash: string;
}

/**
 * @returns the fingerprint of each day, and the total energy of all rows in Wh; null if no row has any, which
 *   is not zero
 */
export async function readFingerprints(
  connection: DuckDBConnection,
  select: RowSelect,
): Promise<{ days: DayFingerprint[]; totalWh: number | null }> {
  const found = await queryText<{
    day: string;
    row_count: bigint;
    energy_wh: bigint | null;
    total_wh: bigint | null;
    hash: string;
  }>(connection, fingerprintSql(select), select.parameters);
  const days = found.map(({ day, row_count, energy_wh, hash }) => ({
    day,
    rows: Number(row_count),
    energyWh: Number(energy_wh ?? 0),
    hash,
  }));
  const totals = found.flatMap(({ total_wh }) => (total_wh === null ? [] : [Number(total_wh)]));
  return { days, totalWh: totals.length === 0 ? null : totals.reduce((sum, wh) => sum + wh, 0) };
}

/**
 * Multiplies each energy by a factor from the hash of its key, and adds up the day. This needs one
 * multiplication for each row instead of a hash, does not depend on the order of rows, and is the same in
 * every version of DuckDB.
 */
function fingerprintSql({ sql, key, energies, total = energies[0] }: RowSelect): string {
  // One factor for each key and one for each instant, because their combinations are as many as the rows.
  const [instants, names] = [true, false].map((wanted) =>
    key.filter((name) => (columnType(name).sql === 'TIMESTAMPTZ') === wanted),
  ) as [ColumnName[], ColumnName[]];
  const parts = [names, instants].filter((part) => part.length > 0);
  const factors = parts.map((part, index) => {
    const text = part.map((name) => (instants.includes(name) ? `epoch_ms(${name})` : name)).join(', ');
    return `factor${index} AS (SELECT *, (md5_number_lower(concat_ws('/', ${text})) >> 34)::HUGEINT AS of_part${index} FROM (SELECT DISTINCT ${part.join(', ')} FROM exported))`;
  });
  const product = parts.map((_, index) => `of_part${index}`).join(' * ');
  const hashes = energies.map(
    (name) => `sum((coalesce(${name}, ${UNKNOWN_WH}) + ${OFFSET_WH}) * ${product})`,
  );
  return `WITH exported AS NOT MATERIALIZED (SELECT day, ${[...key, ...energies].join(', ')} FROM (\n${sql}\n)), ${factors.join(', ')}
SELECT day::VARCHAR AS day, count(*) AS row_count, sum(${energies[0]})::BIGINT AS energy_wh, sum(${total})::BIGINT AS total_wh, concat_ws(' ', ${hashes.join(', ')}) AS hash
FROM exported ${parts.map((part, index) => `JOIN factor${index} USING (${part.join(', ')})`).join(' ')}
GROUP BY day ORDER BY day`;
}

/** Null differs from every energy, and zero counts. Sums stay below 128 bits for a million rows a day. */
const UNKNOWN_WH = -(2 ** 41);
const OFFSET_WH = 2 ** 42;

/** One hash of all days. */
export function hashOf(days: readonly DayFingerprint[]): string {
  const hash = createHash('sha256');
  for (const { day, rows, hash: ofDay } of days) hash.update(`${day} ${rows} ${ofDay}\n`);
  return hash.digest('hex');
}
