import type { DuckDBConnection } from '@duckdb/node-api';
import { query } from '../warehouse/query.ts';
import type { StretchRow } from './stretches.ts';

/**
 * Learns from the steps in context what is usual for their series (power, resolution, time between readings), for the rules that the
 * configuration leaves open. What is learnt depends on the readings alone, never on the order in which they came.
 * @returns whether that changes the rules of every series in context, so that all of them have to be computed as a whole anyway
 */
export async function learnFromContext(connection: DuckDBConnection, range: StretchRow): Promise<boolean> {
  const [learning] = await query<StretchRow | { low_ms: null }>(connection, 'rollup/learning');
  if (!learning || learning.low_ms === null) return false;
  await query(connection, 'rollup/learn-quarters', range);
  await query(connection, 'rollup/forget-quarters', range);
  await query(connection, 'rollup/store-quarters');
  await query(connection, 'rollup/learn-days', learning);
  await query(connection, 'rollup/forget-days-learnt');
  await query(connection, 'rollup/store-days-learnt');
  await query(connection, 'rollup/note-learnt');
  await query(connection, 'rollup/learn-series');
  const [same] = await query<{ count: bigint }>(connection, 'rollup/count-not-relearnt');
  return same!.count === 0n;
}

/**
 * Brings the rules of the series in line with what has been learnt.
 * @returns whether any have changed; table `changed` then names those series
 */
export async function relearn(connection: DuckDBConnection): Promise<boolean> {
  await query(connection, 'rollup/learn-series');
  const [relearnt] = await query<{ count: bigint }>(connection, 'rollup/count-relearnt');
  if (relearnt!.count === 0n) return false;
  await query(connection, 'rollup/store-learnt');
  await query(connection, 'rollup/series-rules');
  await query(connection, 'rollup/changed-rules');
  return true;
}
