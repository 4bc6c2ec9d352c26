import type { DuckDBConnection } from '@duckdb/node-api';
import { DAY_MS, localDateOf } from '../time.ts';
import { query } from '../warehouse/query.ts';
import { bindLocalDays } from './local-days.ts';
import { asBounds, type StretchRow } from './stretches.ts';

/** How far the neighbours of a change are looked for before the whole series is searched. */
const NEIGHBOUR_MS = 2 * DAY_MS;

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
 * @param all also those that nothing but a look at each of them needs
 * @returns the most power that is plausible for every register in context, where it is known
 */
export async function findSteps(connection: DuckDBConnection, { all = false } = {}) {
  const [limits] = await query<{ least_power_w: number | null; needs_all: boolean }>(
    connection,
    'rollup/context-limits',
  );
  await query(connection, 'rollup/steps', {
    ...(await contextBounds(connection)),
    least_power_w: limits!.least_power_w,
    needs_all: all || limits!.needs_all,
  });
  return { least_power_w: limits!.least_power_w };
}

export async function contextBounds(connection: DuckDBConnection): Promise<StretchRow> {
  const [range] = await query<StretchRow>(connection, 'rollup/context-bounds');
  return { low_ms: range!.low_ms, high_ms: range!.high_ms };
}

/** Nulls where there is nothing. */
type Range = StretchRow | { low_ms: null; high_ms: null };
