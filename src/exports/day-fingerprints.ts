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
  const rows = await queryText<{
    day: string;
    row_count: bigint;
    energy_wh: bigint | null;
    total_wh: bigint | null;
    hash: string;
  }>(connection, fingerprintSql(select), select.parameters);
  const days = rows.map(({ day, row_count, energy_wh, hash }) => ({
    day,
    rows: Number(row_count),
    energyWh: Number(energy_wh ?? 0),
    hash,
  }));
  const totals = rows.flatMap(({ total_wh }) => (total_wh === null ? [] : [Number(total_wh)]));
  return { days, totalWh: totals.length === 0 ? null : totals.reduce((sum, wh) => sum + wh, 0) };
}

/**
 * Stands for an unknown energy. No real energy has this value, so unknown and zero have different
 * fingerprints.
 */
const UNKNOWN_WH = -(2 ** 41);
const OFFSET_WH = 2 ** 42;
/**
 * Shifts a hash of 64 bits to a factor of 30 bits. A sum has 127 bits and a sign: an energy with its offset
 * takes 43 of them, two factors take 60, and 24 are left for the number of rows.
 */
const FACTOR_SHIFT = 34;

/**
 * Multiplies each energy by a factor from the hash of its key, and adds up the day. This needs one
 * multiplication for each row instead of a hash, does not depend on the order of rows, and is the same in
 * every version of DuckDB. The text depends on the columns of the report, so it is written here.
 */
function fingerprintSql({ sql, key, energies, total = energies[0] }: RowSelect): string {
  const factors = factorsOf(key);
  const product = factors.map(({ name }) => `${name}.value`).join(' * ');
  const hashes = energies.map(
    (name) => `sum((coalesce(${name}, ${UNKNOWN_WH}) + ${OFFSET_WH}) * ${product})`,
  );
  return `
WITH exported AS NOT MATERIALIZED (
  SELECT day, ${[...key, ...energies].join(', ')}
  FROM (
${sql}
  )
),
${factors.map(factorSql).join(',\n')}
SELECT
  day::VARCHAR AS day,
  count(*) AS row_count,
  sum(${energies[0]})::BIGINT AS energy_wh,
  sum(${total})::BIGINT AS total_wh,
  concat_ws(' ', ${hashes.join(', ')}) AS hash
FROM exported
${factors.map(({ name, columns }) => `JOIN ${name} USING (${columns.join(', ')})`).join('\n')}
GROUP BY day
ORDER BY day`;
}

/** A table with a factor for each combination of some columns of the key. */
interface Factor {
  name: string;
  columns: readonly ColumnName[];
}

/**
 * There is one factor for the names of a key and one for its instant. A factor for both together would need
 * as many hashes as there are rows.
 */
function factorsOf(key: readonly ColumnName[]): Factor[] {
  const factors: Factor[] = [
    { name: 'name_factor', columns: key.filter((name) => !isInstant(name)) },
    { name: 'instant_factor', columns: key.filter(isInstant) },
  ];
  return factors.filter(({ columns }) => columns.length > 0);
}

function factorSql({ name, columns }: Factor): string {
  const texts = columns.map((column) => (isInstant(column) ? `epoch_ms(${column})` : column));
  return `${name} AS (
  SELECT *, (md5_number_lower(concat_ws('/', ${texts.join(', ')})) >> ${FACTOR_SHIFT})::HUGEINT AS value
  FROM (SELECT DISTINCT ${columns.join(', ')} FROM exported)
)`;
}

function isInstant(name: ColumnName): boolean {
  return columnType(name).sql === 'TIMESTAMPTZ';
}

/** One hash of all days. */
export function hashOf(days: readonly DayFingerprint[]): string {
  const hash = createHash('sha256');
  for (const { day, rows, hash: dayHash } of days) hash.update(`${day} ${rows} ${dayHash}\n`);
  return hash.digest('hex');
}
