import type { DuckDBConnection } from '@duckdb/node-api';
import { DAY_MS } from '../time.ts';
import { query } from '../warehouse/query.ts';

/**
 * Learns from the touched days what is usual for their series (power, resolution, time between readings), for the rules that the
 * configuration leaves open. What is learnt depends on the readings alone, never on the order in which they came.
 */
export async function learn(connection: DuckDBConnection): Promise<void> {
  const [bounds] = await query<{ low_ms: bigint | null; high_ms: bigint | null }>(
    connection,
    'rollup/incoming-bounds',
  );
  const day = BigInt(DAY_MS);
  await query(connection, 'rollup/learn-days', {
    low_ms: ((bounds?.low_ms ?? 0n) / day) * day,
    high_ms: ((bounds?.high_ms ?? 0n) / day + 1n) * day,
  });
  await query(connection, 'rollup/forget-learnt-days');
  await query(connection, 'rollup/store-learnt-days');
  await query(connection, 'rollup/learn-series');
  await query(connection, 'rollup/store-learnt');
}
