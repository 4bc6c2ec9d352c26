import type { DuckDBConnection } from '@duckdb/node-api';
import type { EnergyMethod } from '../energy-stream.ts';
import { DAY_MS, localDateOf } from '../time.ts';
import { query } from '../warehouse/query.ts';
import { classifySeries } from './events.ts';
import { learnFromContext } from './learn.ts';
import { bindLocalDays } from './local-days.ts';
import { asBounds, type Stretch, type StretchRow } from './stretches.ts';

/** How far the neighbours of a change are looked for before the whole series is searched. */
const NEIGHBOUR_MS = 2 * DAY_MS;

/**
 * Computes the intervals again that the changed readings of a stretch can have touched: everything from the reading before the first
 * change to the reading after the last one, as whole intervals. Notes the days they belong to.
 */
export async function recompute(
  connection: DuckDBConnection,
  stretch: Stretch,
  timezone: string,
): Promise<void> {
  await query(connection, 'rollup/probe-touched', asBounds(stretch));
  await buildContext(connection, timezone);
  const leastPower = await findSteps(connection);
  if (await learnFromContext(connection, await contextBounds(connection))) return;
  await query(connection, 'rollup/forget-breaks');
  await query(connection, 'rollup/find-breaks', leastPower);
  if (await classifySeries(connection, timezone)) {
    // What a break was taken for has changed, so more than the neighbours of the new readings has to be computed again.
    await query(connection, 'rollup/probe-changed-events', asBounds(stretch));
    await buildContext(connection, timezone);
    await findSteps(connection);
  }
  const range = await contextBounds(connection);
  const methods = await query<{ method: EnergyMethod }>(connection, 'rollup/context-methods');
  for (const name of new Set(methods.flatMap(({ method }) => computation[method]))) {
    await query(connection, `rollup/${name}`, usesRange.has(name) ? range : {});
  }
  await query(connection, 'rollup/touched-local-days');
}

/** From steps to intervals, one statement after the other. */
const ofAll = ['carry-in', 'resumed', 'forget-intervals'];
const ofRegisters = [
  ...ofAll,
  'troubled',
  'kept-readings',
  'register-steps',
  'pinned-midnights',
  'forget-pinned',
  'store-pinned',
  'daily-steps',
  'separate-days',
  'flag-excursions',
  'store-register-intervals',
];
const ofPower = [...ofAll, 'store-power-intervals', 'round-intervals'];
const computation: Readonly<Record<EnergyMethod, readonly string[]>> = {
  total_energy: ofRegisters,
  daily_energy: ofRegisters,
  power_curve: ofPower,
  interval_energy: ofPower,
};
const usesRange = new Set(['carry-in', 'forget-intervals', 'kept-readings', 'pinned-midnights', 'resumed']);

/** From the probed stretches of series to the intervals to compute and the readings that takes, in table `context`. */
async function buildContext(connection: DuckDBConnection, timezone: string): Promise<void> {
  await findNeighbours(connection);
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

/** @returns the most power that is plausible for every register in context, where it is known */
async function findSteps(connection: DuckDBConnection) {
  const [limits] = await query<{ least_power_w: number | null; needs_all: boolean }>(
    connection,
    'rollup/context-limits',
  );
  await query(connection, 'rollup/steps', { ...(await contextBounds(connection)), ...limits! });
  return { least_power_w: limits!.least_power_w };
}

async function contextBounds(connection: DuckDBConnection): Promise<StretchRow> {
  const [range] = await query<StretchRow>(connection, 'rollup/context-bounds');
  return { low_ms: range!.low_ms, high_ms: range!.high_ms };
}

/** Nulls where there is nothing. */
type Range = StretchRow | { low_ms: null; high_ms: null };
