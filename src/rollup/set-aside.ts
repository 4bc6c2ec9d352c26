import type { DuckDBConnection } from '@duckdb/node-api';
import { programVersion } from '../lib/program-version.ts';
import type { UtcMs } from '../lib/time.ts';
import { query, type SqlParameters } from '../warehouse/query.ts';
import { type asBounds, type StretchRow, stretchesOf } from './find-stretches.ts';
import { bindDays, type RollUpContext, readRow, readRows, run } from './rollup-context.ts';

/** A series, by what names it before it has a number too. */
export type SeriesKey = { stream_id: number; device: string; source: string };

/**
 * Releases the series that were set aside and are tried again: with another program, with other rules or another configuration, or because
 * somebody asks for it. Everything that follows from their readings is forgotten, to be computed anew.
 * @returns how many there are
 */
export async function releaseRetried(context: RollUpContext): Promise<number> {
  const retried = await run(context, 'find_retried_series', { version: programVersion });
  if (retried === 0) return 0;
  await run(context, 'release_retried_series');
  await run(context, 'delete_retried_intervals');
  await run(context, 'delete_retried_quarters');
  await run(context, 'delete_retried_days');
  await run(context, 'delete_retried_breaks');
  await run(context, 'delete_retried_events');
  return retried;
}

/** Sets a series aside, or notes that it has failed again. `error`: in words that tell no values. */
export async function setAside(
  connection: DuckDBConnection,
  key: SeriesKey,
  { error, nowMs }: { error: string; nowMs: UtcMs },
): Promise<void> {
  const parameters = { ...key, error, version: programVersion };
  await query(connection, 'rollup/update_set_aside', parameters);
  await query(connection, 'rollup/set_aside', { ...parameters, now_ms: nowMs });
}

/** Has the next roll-up try series again: all that are set aside, or those of a device. @returns how many there are */
export async function requestRetry(
  connection: DuckDBConnection,
  device: string | undefined,
): Promise<{ series: number }> {
  const [row] = await query<{ Count: bigint }>(connection, 'rollup/request_retry', {
    device: device ?? null,
  });
  return { series: Number(row!.Count) };
}

/** Leaves series out: those that are set aside, and those that a trial names. */
export async function omitSeries(context: RollUpContext, trial: readonly SeriesKey[]): Promise<void> {
  await run(context, 'find_omitted_series');
  if (trial.length > 0) {
    await run(context, 'omit_trial_series', {
      streams: trial.map(({ stream_id }) => stream_id),
      devices: trial.map(({ device }) => device),
      sources: trial.map(({ source }) => source),
    });
  }
  await run(context, 'drop_omitted_rules');
  await run(context, 'drop_omitted_touched');
}

/** Notes the days of the new readings of series that are left out. */
export async function touchOmittedDays(context: RollUpContext): Promise<void> {
  const days = await readRows<StretchRow>(context, 'list_omitted_days');
  for (const { lowMs, highMs } of stretchesOf(days)) {
    await bindDays(context, lowMs, highMs, false);
    await run(context, 'touch_omitted_days');
  }
}

/** Lets the days of sources with a series that is left out say so. @returns how many days change */
export async function keepUnavailable(
  context: RollUpContext,
  parameters: ReturnType<typeof asBounds> & SqlParameters,
): Promise<number> {
  const { now_ms, close_after_ms, ...bounds } = parameters;
  await run(context, 'find_unavailable_days', {
    ...bounds,
    now_ms: now_ms!,
    close_after_ms: close_after_ms!,
  });
  await run(context, 'drop_unavailable_changes');
  await run(context, 'add_unavailable_changes');
  return Number((await readRow<{ count: bigint }>(context, 'count_day_changes')).count);
}
