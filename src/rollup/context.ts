import type { DuckDBConnection } from '@duckdb/node-api';
import { DAY_MS, localDateOf } from '../time.ts';
import { query } from '../warehouse/query.ts';
import { bindLocalDays } from './local-days.ts';
import { asBounds, type StretchRow } from './stretches.ts';

/** How far the neighbours of a change are looked for before the whole series is searched. */
const NEIGHBOUR_MS = 2 * DAY_MS;

/** As many intervals take some 150 MB to sort: six registers that are silent for ten years. */
const INTERVALS_MAX = 2_000_000n;

/** Where there are more intervals than this for each reading, silences are what takes the memory; else the readings do. */
const SILENT_INTERVALS_MIN = 4n;

/** From the probed stretches of series to the intervals to compute and the readings that takes, in table `context`. */
export async function buildContext(connection: DuckDBConnection, timezone: string): Promise<void> {
  await findNeighbours(connection);
  const [found] = await query<Range>(connection, 'rollup/neighbour-bounds');
  if (found && found.low_ms !== null) await query(connection, 'rollup/held-neighbours', { ...found });
  await bindDaysOf(connection, timezone, 'rollup/neighbour-bounds');
  await query(connection, 'rollup/context');
  await query(connection, 'rollup/probe-edges');
  await findNeighbours(connection);
  await query(connection, 'rollup/context-edges');
  await bindDaysOf(connection, timezone, 'rollup/context-bounds');
}

/** Looks near by first, which reads little; then, for series that are silent around the stretch, everywhere. */
async function findNeighbours(connection: DuckDBConnection): Promise<void> {
  await query(connection, 'rollup/neighbours');
  const [probe] = await query<Range>(connection, 'rollup/probe-bounds');
  if (!probe || probe.low_ms === null) return;
  const near = asBounds({
    lowMs: Number(probe.low_ms) - NEIGHBOUR_MS,
    highMs: Number(probe.high_ms) + NEIGHBOUR_MS,
  });
  for (const within of [near, asBounds({ lowMs: 0, highMs: Number.MAX_SAFE_INTEGER })]) {
    const [missing] = await query<{ count: bigint }>(connection, 'rollup/missing-neighbours');
    if (missing!.count > 0n) await query(connection, 'rollup/find-neighbours', within);
  }
}

async function bindDaysOf(
  connection: DuckDBConnection,
  timezone: string,
  boundsQuery: string,
): Promise<void> {
  const [range] = await query<Range>(connection, boundsQuery);
  if (!range || range.low_ms === null) return;
  const [from, to] = [range.low_ms, range.high_ms].map((ms) => localDateOf(Number(ms), timezone));
  await bindLocalDays(connection, from!, to!, timezone);
}

/**
 * The steps of the series in context, in table `raw_step`.
 * @returns whether there are steady registers, of which there are none
 */
export async function findSteps(connection: DuckDBConnection): Promise<{ hasSteady: boolean }> {
  const [limits] = await query<{
    least_power_w: number | null;
    needs_all: boolean;
    is_whole: boolean;
    may_be_steady: boolean;
  }>(connection, 'rollup/context-limits');
  const { least_power_w, needs_all, is_whole, may_be_steady } = limits!;
  const hasSteady = may_be_steady && (await markSteady(connection));
  await query(connection, is_whole && !hasSteady ? 'rollup/all-readings' : 'rollup/context-readings');
  await query(connection, 'rollup/steps', {
    ...(await contextBounds(connection)),
    least_power_w,
    needs_all,
  });
  return { hasSteady };
}

async function markSteady(connection: DuckDBConnection): Promise<boolean> {
  const [marked] = await query<{ Count: bigint }>(connection, 'rollup/mark-steady');
  return marked!.Count > 0n;
}

export async function contextBounds(connection: DuckDBConnection): Promise<StretchRow> {
  const [range] = await query<StretchRow>(connection, 'rollup/context-bounds');
  return { low_ms: range!.low_ms, high_ms: range!.high_ms };
}

/**
 * Divides a context that is made up of long silences, so that memory does not grow with how many devices are silent.
 * @returns the parts of table `divided_context`; none where the context is to be computed as it is
 */
export async function divideContext(connection: DuckDBConnection): Promise<number[]> {
  const [size] = await query<{ intervals: bigint }>(connection, 'rollup/context-size');
  if (size!.intervals <= INTERVALS_MAX) return [];
  const count_max = size!.intervals / SILENT_INTERVALS_MIN;
  const bounds = await contextBounds(connection);
  const [readings] = await query<{ count: bigint }>(connection, 'rollup/count-context-readings', {
    ...bounds,
    count_max,
  });
  if (readings!.count >= count_max) return [];
  await query(connection, 'rollup/divide-context', { intervals_max: INTERVALS_MAX });
  const parts = await query<{ part: number }>(connection, 'rollup/context-parts');
  return parts.map(({ part }) => part);
}

/** Makes a part of the divided context the context. */
export async function takePart(connection: DuckDBConnection, part: number, timezone: string): Promise<void> {
  await query(connection, 'rollup/context-part', { part });
  await bindDaysOf(connection, timezone, 'rollup/context-bounds');
}

/** Nulls where there is nothing. */
type Range = StretchRow | { low_ms: null; high_ms: null };
