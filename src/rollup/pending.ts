import { describeScope, type Scope } from './scope.ts';
import type { Touched } from './stretches.ts';
import { ask, run, type Working } from './working.ts';

/** How much of what a moved limit touches is computed in one call. */
export interface Steps {
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
export async function deferMoved(
  working: Working,
  scope: Scope,
  hasMoved: boolean,
  { readingsMax, completeId, batchId }: Steps,
): Promise<{ left: Scope | undefined; isMuch: boolean }> {
  const isMuch = hasMoved && (await countMoved(working)) > readingsMax;
  if (!isMuch && !working.hasDeferred) return { left: scope, isMuch };
  await run(working, 'defer_devices', { is_much: isMuch, complete_id: completeId, batch_id: batchId });
  working.hasDeferred = true;
  if ((await run(working, 'leave_deferred')) === 0) return { left: scope, isMuch };
  await run(working, 'forget_relearnt');
  const { series } = await ask<{ series: bigint }>(working, 'count_scope');
  return { left: series > 0n ? await describeScope(working) : undefined, isMuch };
}

async function countMoved(working: Working): Promise<number> {
  return Number((await ask<{ readings: bigint }>(working, 'count_moved')).readings);
}

/** Takes some of the devices that wait, as if they were all that new readings have come of. To be called before the rules are read. */
export async function takePending(working: Working, readingsMax: number): Promise<void> {
  await run(working, 'take_pending', { readings_max: readingsMax });
  await run(working, 'take_arrived');
}

/** What has touched the devices that are taken. */
export async function touchPending(working: Working): Promise<void> {
  await run(working, 'touch_pending');
}

/** The limits of these devices that have moved. To be called once the series are left out that are set aside. */
export async function takeMoved(working: Working): Promise<void> {
  await run(working, 'take_relearnt');
  await run(working, 'note_limits');
  await run(working, 'take_reach');
}

/** All of it as one stretch, because limits that moved hold in all of it. */
export function asOne(touched: Touched): Touched {
  const [first, last] = [touched.stretches.at(0), touched.stretches.at(-1)];
  const stretches = first && last ? [{ lowMs: first.lowMs, highMs: last.highMs }] : [];
  return { ...touched, stretches };
}

/** Forgets the devices that are computed now, or all. @returns whether others wait */
export async function forgetPending(working: Working, all: boolean): Promise<boolean> {
  await run(working, 'forget_pending', { all });
  return (await ask<{ waiting: bigint }>(working, 'count_pending')).waiting > 0n;
}
