import type { DuckDBConnection } from '@duckdb/node-api';
import type { WorkgroupConfig } from '../config.ts';
import type { LocalDate } from '../time.ts';
import { query } from '../warehouse/query.ts';
import { bindLocalDays } from './local-days.ts';

export interface DayOptions {
  workgroup: WorkgroupConfig;
  closeAfterMs: number;
  nowMs: bigint;
  batchId: bigint;
}

/**
 * Sums the days that the intervals in `context` belong to and stores those that have changed as new versions.
 * @returns how many days of a device and source have changed
 */
export async function updateDays(connection: DuckDBConnection, options: DayOptions): Promise<number> {
  await query(connection, 'rollup/touched-local-days');
  return storeDays(connection, options);
}

/** The same for every day there is, after streams or the zone have changed. */
export async function restateAllDays(connection: DuckDBConnection, options: DayOptions): Promise<number> {
  const [range] = await query<{ first_day: LocalDate | null; last_day: LocalDate | null }>(
    connection,
    'rollup/all-days-bounds',
  );
  if (!range || range.first_day === null || range.last_day === null) return 0;
  await bindLocalDays(connection, range.first_day, range.last_day, options.workgroup.timezone);
  await query(connection, 'rollup/all-local-days');
  return storeDays(connection, options);
}

async function storeDays(
  connection: DuckDBConnection,
  { closeAfterMs, nowMs, batchId }: DayOptions,
): Promise<number> {
  await query(connection, 'rollup/days');
  await query(connection, 'rollup/changed-days', { now_ms: nowMs, close_after_ms: BigInt(closeAfterMs) });
  await query(connection, 'rollup/forget-changed-days');
  await query(connection, 'rollup/store-days', { now_ms: nowMs, batch_id: batchId });
  await query(connection, 'rollup/store-history', { now_ms: nowMs, batch_id: batchId });
  await query(connection, 'rollup/mark-dirty');
  const [changed] = await query<{ count: bigint }>(connection, 'rollup/count-changed-days');
  return Number(changed!.count);
}
