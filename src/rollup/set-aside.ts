import type { DuckDBConnection } from '@duckdb/node-api';
import { programVersion } from '../lib/program-version.ts';
import type { UtcMs } from '../lib/time.ts';
import { query, type SqlParameters } from '../warehouse/query.ts';
import { type asBounds, type StretchRow, stretchesOf } from './stretches.ts';
import { ask, bindDays, list, run, type Working } from './working.ts';

/** A series, by what names it before it has a number too. */
export type SeriesKey = { stream_id: number; device: string; source: string };

/**
 * Releases the series that were set aside and are tried again: with another program, with other rules or another configuration, or because
 * somebody asks for it. Everything that follows from their readings is forgotten, to be computed anew.
 * @returns how many there are
 */
export async function releaseRetried(working: Working): Promise<number> {
  const retried = await run(working, 'find_retried', { version: programVersion });
  if (retried === 0) return 0;
  await run(working, 'release_retried');
  await run(working, 'forget_retried_intervals');
  await run(working, 'forget_retried_quarters');
  await run(working, 'forget_retried_days');
  await run(working, 'forget_retried_breaks');
  await run(working, 'forget_retried_events');
  return retried;
}

/** Sets a series aside, or notes that it has failed again. `error`: in words that tell no values. */
export async function setAside(
  connection: DuckDBConnection,
  key: SeriesKey,
  { error, nowMs }: { error: string; nowMs: UtcMs },
): Promise<void> {
  const parameters = { ...key, error, version: programVersion };
  await query(connection, 'rollup/set_aside_again', parameters);
  await query(connection, 'rollup/set_aside', { ...parameters, now_ms: nowMs });
}

/** Has the next roll-up try series again: all that are set aside, or those of a device. @returns how many there are */
export async function tryAgain(
  connection: DuckDBConnection,
  device: string | undefined,
): Promise<{ series: number }> {
  const [row] = await query<{ Count: bigint }>(connection, 'rollup/try_again', { device: device ?? null });
  return { series: Number(row!.Count) };
}

/** Leaves series out: those that are set aside, and those that a trial names. */
export async function leaveOut(working: Working, trial: readonly SeriesKey[]): Promise<void> {
  await run(working, 'leave_out_set_aside');
  if (trial.length > 0) {
    await run(working, 'leave_out', {
      streams: trial.map(({ stream_id }) => stream_id),
      devices: trial.map(({ device }) => device),
      sources: trial.map(({ source }) => source),
    });
  }
  await run(working, 'forget_left_out');
  await run(working, 'forget_left_out_touched');
}

/** Notes the days of the new readings of series that are left out. */
export async function touchLeftOut(working: Working): Promise<void> {
  const days = await list<StretchRow>(working, 'left_out_days');
  for (const { lowMs, highMs } of stretchesOf(days)) {
    await bindDays(working, lowMs, highMs, false);
    await run(working, 'touch_left_out');
  }
}

/** Lets the days of sources with a series that is left out say so. @returns how many days change */
export async function keepUnavailable(
  working: Working,
  parameters: ReturnType<typeof asBounds> & SqlParameters,
): Promise<number> {
  const { now_ms, close_after_ms, ...bounds } = parameters;
  await run(working, 'find_unavailable', { ...bounds, now_ms: now_ms!, close_after_ms: close_after_ms! });
  await run(working, 'forget_unavailable');
  await run(working, 'take_unavailable');
  return Number((await ask<{ count: bigint }>(working, 'count_day_changes')).count);
}
