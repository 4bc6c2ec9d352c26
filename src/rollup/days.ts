import type { DuckDBConnection } from '@duckdb/node-api';
import { type LocalDate, localDateOf } from '../time.ts';
import { query } from '../warehouse/query.ts';
import { bindLocalDays } from './local-days.ts';
import type { Restatement } from './streams.ts';
import { asBounds, type StretchRow, stretchesOf } from './stretches.ts';

export interface DayOptions {
  timezone: string;
  closeAfterMs: number;
  nowMs: bigint;
  batchId: bigint;
  /** Which settings have changed, so that every day there is has to be looked at. */
  restated: Restatement | undefined;
}

/**
 * Sums the noted days of their intervals and stores those that have changed as new versions, once, whatever has been computed on the way.
 * @returns how many days of a device and source have changed
 */
export async function updateDays(connection: DuckDBConnection, options: DayOptions): Promise<number> {
  if (options.restated) return restateAllDays(connection, options);
  await query(connection, 'rollup/all-sources-days');
  let changed = 0;
  for (const stretch of stretchesOf(await query<StretchRow>(connection, 'rollup/touched-day-bounds'))) {
    const [from, to] = [stretch.lowMs, stretch.highMs].map((ms) => localDateOf(ms, options.timezone));
    await bindLocalDays(connection, from!, to!, options.timezone);
    changed += await storeDays(connection, asBounds(stretch), options);
  }
  return changed;
}

async function restateAllDays(connection: DuckDBConnection, options: DayOptions): Promise<number> {
  const [range] = await query<{ first_day: LocalDate | null; last_day: LocalDate | null }>(
    connection,
    'rollup/all-days-bounds',
  );
  if (!range || range.first_day === null || range.last_day === null) return 0;
  await bindLocalDays(connection, range.first_day, range.last_day, options.timezone);
  await query(connection, 'rollup/all-local-days');
  await query(connection, 'rollup/all-sources-days');
  return storeDays(connection, asBounds({ lowMs: 0, highMs: Number.MAX_SAFE_INTEGER }), options);
}

async function storeDays(
  connection: DuckDBConnection,
  bounds: StretchRow,
  { closeAfterMs, nowMs, batchId, restated }: DayOptions,
): Promise<number> {
  await query(connection, 'rollup/day-candidates', bounds);
  await query(connection, 'rollup/contradictions');
  await query(connection, 'rollup/days', bounds);
  await query(connection, 'rollup/changed-days', { now_ms: nowMs, close_after_ms: BigInt(closeAfterMs) });
  await query(connection, 'rollup/version-causes', { now_ms: nowMs, restated: restated ?? null });
  await query(connection, 'rollup/store-history', { now_ms: nowMs, batch_id: batchId });
  await query(connection, 'rollup/forget-changed-days');
  await query(connection, 'rollup/store-days', { now_ms: nowMs, batch_id: batchId });
  await query(connection, 'rollup/mark-dirty', { ...bounds, now_ms: nowMs });
  const [changed] = await query<{ count: bigint }>(connection, 'rollup/count-changed-days');
  return Number(changed!.count);
}
