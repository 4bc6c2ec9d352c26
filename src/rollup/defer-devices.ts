import { describeScope, type Scope } from './find-scope.ts';
import type { Touched } from './find-stretches.ts';
import { type RollUpContext, readRow, run } from './rollup-context.ts';

/** How much of what a moved limit touches is computed in one call. */
export interface PendingBudget {
  /** Readings on days whose limits have moved. */
  readingsMax: number;
  /** The last batch whose energy is complete, and the last one that is taken in. */
  completeId: bigint;
  batchId: bigint;
}

/** So many take about a second of CPU, which leaves room below two seconds for a machine that has other work. */
export const MOVED_READINGS_MAX = 100_000;

/**
 * Puts the devices off whose limits have moved, where their days hold more readings than are computed in one call, and those that wait already.
 * @param hasMoved limits have changed of days that are not in scope
 * @returns the scope without them: `scope` itself where none was put off, undefined where nothing is left; `isMuch`: all whose limits have moved wait
 */
export async function deferDevices(
  context: RollUpContext,
  scope: Scope,
  hasMoved: boolean,
  { readingsMax, completeId, batchId }: PendingBudget,
): Promise<{ left: Scope | undefined; isMuch: boolean }> {
  const isMuch = hasMoved && (await countMoved(context)) > readingsMax;
  if (!isMuch && !context.hasDeferred) return { left: scope, isMuch };
  await run(context, 'defer_devices', { is_much: isMuch, complete_id: completeId, batch_id: batchId });
  context.hasDeferred = true;
  if ((await run(context, 'drop_deferred_scope')) === 0) return { left: scope, isMuch };
  await run(context, 'drop_deferred_limits');
  const { series } = await readRow<{ series: bigint }>(context, 'count_scope');
  return { left: series > 0n ? await describeScope(context) : undefined, isMuch };
}

async function countMoved(context: RollUpContext): Promise<number> {
  return Number((await readRow<{ readings: bigint }>(context, 'count_moved')).readings);
}

/** Takes some of the devices that wait, as if they were all that new readings have come of. To be called before the rules are read. */
export async function loadPending(context: RollUpContext, readingsMax: number): Promise<void> {
  await run(context, 'load_pending_devices', { readings_max: readingsMax });
  await run(context, 'load_pending_arrivals');
}

/** What has touched the devices that are taken. */
export async function touchPending(context: RollUpContext): Promise<void> {
  await run(context, 'load_pending_touched');
}

/** The limits of these devices that have moved. To be called once the series are left out that are set aside. */
export async function loadPendingLimits(context: RollUpContext): Promise<void> {
  await run(context, 'load_pending_limits');
  await run(context, 'note_changed_limits');
  await run(context, 'apply_pending_reach');
}

/** All of it as one stretch, because limits that moved hold in all of it. */
export function asOneStretch(touched: Touched): Touched {
  const [first, last] = [touched.stretches.at(0), touched.stretches.at(-1)];
  const stretches = first && last ? [{ lowMs: first.lowMs, highMs: last.highMs }] : [];
  return { ...touched, stretches };
}

/** Forgets the devices that are computed now, or all. @returns whether others wait */
export async function deletePending(context: RollUpContext, all: boolean): Promise<boolean> {
  await run(context, 'delete_pending', { all });
  return (await readRow<{ waiting: bigint }>(context, 'count_pending')).waiting > 0n;
}
