import type { DuckDBConnection } from '@duckdb/node-api';
import type { EnergyMethod } from '../energy-stream.ts';
import { query } from '../warehouse/query.ts';
import { buildContext, contextBounds, divideContext, findSteps, takePart } from './context.ts';
import { classifySeries } from './events.ts';
import { learnFromContext } from './learn.ts';
import { findSunk } from './sinking.ts';
import { asBounds, type Stretch, type StretchRow } from './stretches.ts';

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
  const parts = await divideContext(connection);
  if (parts.length < 2) return recomputeContext(connection, stretch, timezone);
  for (const part of parts) {
    await takePart(connection, part, timezone);
    await recomputeContext(connection, stretch, timezone);
  }
}

async function recomputeContext(
  connection: DuckDBConnection,
  stretch: Stretch,
  timezone: string,
): Promise<void> {
  let found = await findSteps(connection);
  await query(connection, 'rollup/note-steady');
  if (await learnFromContext(connection, await contextBounds(connection))) return;
  await findBreaks(connection);
  if (await classifySeries(connection)) {
    // What a break was taken for has changed, so more than the neighbours of the new readings has to be computed again.
    await query(connection, 'rollup/probe-changed-events', asBounds(stretch));
    await buildContext(connection, timezone);
    found = await findSteps(connection);
  }
  const methods = await computeIntervals(connection, found);
  if (!methods.includes('power_curve')) return;
  await query(connection, 'rollup/shaped-silences', await contextBounds(connection));
  const [shaped] = await query<{ count: bigint }>(connection, 'rollup/count-shaped');
  if (shaped!.count === 0n) return;
  // Power has changed beside a register that was silent.
  await query(connection, 'rollup/probe-shaped');
  await buildContext(connection, timezone);
  await computeIntervals(connection, await findSteps(connection));
}

async function findBreaks(connection: DuckDBConnection) {
  const kinds = new Set((await contextMethods(connection)).map((method) => computation[method]));
  await query(connection, 'rollup/forget-breaks');
  if (kinds.has(ofRegisters)) await query(connection, 'rollup/find-breaks');
  if (kinds.has(ofPower)) await query(connection, 'rollup/find-power-breaks');
}

async function contextMethods(connection: DuckDBConnection): Promise<EnergyMethod[]> {
  const rows = await query<{ method: EnergyMethod }>(connection, 'rollup/context-methods');
  return rows.map(({ method }) => method);
}

/** @returns the methods of what was computed */
async function computeIntervals(
  connection: DuckDBConnection,
  { hasSteady }: { hasSteady: boolean },
): Promise<EnergyMethod[]> {
  const range = await contextBounds(connection);
  const methods = await contextMethods(connection);
  // Power first, because it shapes the silences of the registers beside it.
  const needed = new Set(methods.map((method) => computation[method]));
  const statements = [
    ...ofAll,
    ...(hasSteady ? ['store-steady-intervals'] : []),
    ...[ofPower, ofRegisters].filter((one) => needed.has(one)).flat(),
    'touched-local-days',
  ].filter((name) => name !== 'daily-steps' || methods.includes('daily_energy'));
  await runAll(connection, statements, range);
  return methods;
}

async function runAll(connection: DuckDBConnection, names: readonly string[], range: StretchRow) {
  for (const name of names) {
    await query(connection, `rollup/${name}`, usesRange.has(name) ? range : {});
    if (name === 'kept-readings') await findSunk(connection);
  }
}

/**
 * As `recompute`, up to the energy: what the energy of the touched stretches follows from, as straight lines, in tables `raw_step`
 * and `step` and view `power_part`. Changes nothing that is stored, and judges nothing anew.
 */
export async function trace(connection: DuckDBConnection, stretch: Stretch, timezone: string): Promise<void> {
  await query(connection, 'rollup/probe-touched', asBounds(stretch));
  await buildContext(connection, timezone);
  await query(connection, 'rollup/look-at-all');
  await findSteps(connection);
  await runAll(connection, ['carry-in', ...registerLines, 'power-parts'], await contextBounds(connection));
}

/** From steps to intervals, one statement after the other. */
const registerLines = [
  'troubled',
  'kept-readings',
  'register-steps',
  'pinned-midnights',
  'forget-pinned',
  'store-pinned',
  'daily-steps',
  'separate-days',
  'flag-excursions',
  'shape',
];
const ofAll = ['carry-in', 'resumed', 'forget-intervals'];
const ofRegisters = [...registerLines, 'other-series', 'store-register-intervals'];
const ofPower = ['power-parts', 'store-power-intervals', 'round-intervals'];
const computation: Readonly<Record<EnergyMethod, readonly string[]>> = {
  total_energy: ofRegisters,
  daily_energy: ofRegisters,
  power_curve: ofPower,
  interval_energy: ofPower,
};
const usesRange = new Set([
  'carry-in',
  'forget-intervals',
  'kept-readings',
  'pinned-midnights',
  'resumed',
  'shape',
  'store-steady-intervals',
]);
