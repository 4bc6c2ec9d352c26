import type { DuckDBConnection } from '@duckdb/node-api';
import { LRUCache } from 'lru-cache';
import type { WorkgroupConfig } from '../config/config.ts';
import { dayBounds, type LocalDate } from '../lib/time.ts';
import { jsonRowsSql } from '../warehouse/json-rows.ts';
import { query, queryText } from '../warehouse/query.ts';

/** The zone of the days. */
export type DeclaredZone = Partial<Pick<WorkgroupConfig, 'timezone'>>;

const columns = { day: 'DATE', start_ms: 'BIGINT', end_ms: 'BIGINT' };

/**
 * Fills the temporary tables declared_zone with the time zone, and declared_day with the local days from the
 * first to the last with energy, with bounds from the tz database.
 */
export async function declareDays(
  connection: DuckDBConnection,
  { timezone = 'Etc/UTC' }: DeclaredZone,
): Promise<void> {
  await query(connection, 'publish/declare_zone', { timezone });
  const [range] = await query<{ first_day: string | null; last_day: string | null }>(
    connection,
    'publish/find_day_range',
  );
  const { first_day: first, last_day: last } = range!;
  const rows = first === null || last === null ? '[]' : boundsOf(first, last, timezone);
  const select = `CREATE OR REPLACE TEMP TABLE declared_day AS\n${jsonRowsSql('rows', columns)}`;
  await queryText(connection, select, { rows });
}

/** A cache, because bounds of ten years take 0.1 s, and each publication needs the same. */
const keptBounds = new LRUCache<string, string>({ max: 64 });

function boundsOf(first: LocalDate, last: LocalDate, timezone: string): string {
  const key = `${timezone} ${first} ${last}`;
  let rows = keptBounds.get(key);
  if (rows === undefined) {
    const days = dayBounds(first, last, timezone);
    rows = JSON.stringify(days.map(({ day, startMs, endMs }) => ({ day, start_ms: startMs, end_ms: endMs })));
    keptBounds.set(key, rows);
  }
  return rows;
}
