import type { DuckDBConnection } from '@duckdb/node-api';
import { programVersion } from '../lib/program-version.ts';
import type { UtcMs } from '../lib/time.ts';
import { query, type SqlParameters } from '../warehouse/query.ts';
import { joinToFewStretches } from './find-stretches.ts';
import {
  type Bounds,
  bindDays,
  type RollUpContext,
  readRow,
  readRows,
  runStatement,
} from './rollup-context.ts';

/** The key of a series that may not be stored yet. */
export type SeriesKey = { stream_id: number; device: string; source: string };

/**
 * Releases the series that are tried again: after another version of the program, other rules or another
 * configuration, or because a person asked. Deletes everything that follows from their readings, to compute
 * it again.
 * @returns their number
 */
export async function releaseRetried(context: RollUpContext): Promise<number> {
  const retried = await runStatement(context, 'collect_retried_series', { version: programVersion });
  if (retried === 0) return 0;
  await runStatement(context, 'release_retried_series');
  await runStatement(context, 'delete_retried_intervals');
  await runStatement(context, 'delete_retried_quarters');
  await runStatement(context, 'delete_retried_days');
  await runStatement(context, 'delete_retried_breaks');
  await runStatement(context, 'delete_retried_events');
  return retried;
}

/**
 * Sets a series aside, or stores that it has failed again. `error`: a description without values of readings.
 */
export async function setAside(
  connection: DuckDBConnection,
  key: SeriesKey,
  { error, nowMs }: { error: string; nowMs: UtcMs },
): Promise<void> {
  const parameters = { ...key, error, version: programVersion };
  await query(connection, 'rollup/update_set_aside', parameters);
  await query(connection, 'rollup/store_set_aside', { ...parameters, now_ms: nowMs });
}

/**
 * Lets the next roll-up try series again: the series of a device, or all series that are set aside.
 * @returns their number
 */
export async function requestRetry(
  connection: DuckDBConnection,
  device: string | undefined,
): Promise<{ series: number }> {
  const [row] = await query<{ Count: bigint }>(connection, 'rollup/request_retry', {
    device: device ?? null,
  });
  return { series: Number(row!.Count) };
}

/** Omits series from this roll-up: series that are set aside, and series of a trial. */
export async function omitSeries(context: RollUpContext, trial: readonly SeriesKey[]): Promise<void> {
  await runStatement(context, 'collect_omitted_series');
  if (trial.length > 0) {
    await runStatement(context, 'omit_trial_series', {
      streams: trial.map(({ stream_id }) => stream_id),
      devices: trial.map(({ device }) => device),
      sources: trial.map(({ source }) => source),
    });
  }
  await runStatement(context, 'drop_omitted_rules');
  await runStatement(context, 'drop_omitted_touched');
}

/** Touches the days of the new readings of omitted series. */
export async function touchOmittedDays(context: RollUpContext): Promise<void> {
  const ranges = await readRows<Bounds>(context, 'list_omitted_ranges');
  for (const { lowMs, highMs } of joinToFewStretches(ranges)) {
    await bindDays(context, lowMs, highMs, { byInterval: false });
    await runStatement(context, 'touch_omitted_days');
  }
}

/**
 * Changes the days of sources that have an omitted series: they keep their energy, or are read from another
 * field.
 * @returns the number of changed days
 */
export async function keepUnavailable(
  context: RollUpContext,
  parameters: Bounds & SqlParameters,
): Promise<number> {
  const { now_ms, close_after_ms, ...bounds } = parameters;
  await runStatement(context, 'collect_unavailable_days', {
    ...bounds,
    now_ms: now_ms!,
    close_after_ms: close_after_ms!,
  });
  await runStatement(context, 'drop_unavailable_changes');
  await runStatement(context, 'add_unavailable_changes');
  return Number((await readRow<{ count: bigint }>(context, 'count_day_changes')).count);
}
