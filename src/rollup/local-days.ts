import type { DuckDBConnection } from '@duckdb/node-api';
import { addDays, dayBounds, type LocalDate } from '../time.ts';
import { query } from '../warehouse/query.ts';

/**
 * Builds the tables of local days and their intervals that the statements join on, a day further on either side.
 * The bounds come from the tz database here, because a database function picks the wrong instant where midnight repeats.
 */
export async function bindLocalDays(
  connection: DuckDBConnection,
  from: LocalDate,
  to: LocalDate,
  timezone: string,
): Promise<void> {
  const days = dayBounds(addDays(from, -1), addDays(to, 1), timezone);
  await query(connection, 'rollup/local-days', {
    days: days.map((one) => one.day),
    starts_ms: days.map((one) => BigInt(one.startMs)),
    ends_ms: days.map((one) => BigInt(one.endMs)),
  });
  await query(connection, 'rollup/interval-days');
}
