import { createHash } from 'node:crypto';
import type { DuckDBConnection } from '@duckdb/node-api';
import type { LocalDate } from '../time.ts';
import { queryText } from '../warehouse/query.ts';
import { loadSql } from '../warehouse/sql.ts';
import type { RowSelect } from './reports.ts';

/** What the rows of a day come to. Their energy counts, and not what stands beside it: that a day has become final is no change of it. */
export interface DayFingerprint {
  day: LocalDate;
  rows: number;
  /** Wh */
  energyWh: number;
  hash: string;
}

export async function readFingerprints(
  connection: DuckDBConnection,
  { sql, parameters, key }: RowSelect,
): Promise<DayFingerprint[]> {
  const rowKey = `concat_ws('/', ${key.join(', ')})`;
  const found = await queryText<{ day: string; row_count: bigint; energy_wh: bigint | null; hash: string }>(
    connection,
    `WITH exported AS (SELECT day, ${rowKey} AS row_key, energy_wh FROM (\n${sql}\n))\n${loadSql('export/fingerprint')}`,
    parameters,
  );
  return found.map(({ day, row_count, energy_wh, hash }) => ({
    day,
    rows: Number(row_count),
    energyWh: Number(energy_wh ?? 0),
    hash,
  }));
}

/** One hash of all days. */
export function hashOf(days: readonly DayFingerprint[]): string {
  const hash = createHash('sha256');
  for (const { day, rows, hash: ofDay } of days) hash.update(`${day} ${rows} ${ofDay}\n`);
  return hash.digest('hex');
}
