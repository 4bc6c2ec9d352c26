import { describeScope, type Scope } from './find-scope.ts';
import type { Touched } from './find-stretches.ts';
import { type RollUpContext, readRow, runStatement } from './rollup-context.ts';

/** The bound on the work of one call for changed limits, and the batches that wait with devices. */
export interface PendingBudget {
  /** The maximum number of readings on days with changed limits. */
  readingsMax: number;
  /** The last batch with complete energy; `batchId`: the last batch of this roll-up. */
  completeId: bigint;
  batchId: bigint;
}

/** This many readings take about a second of CPU, so a call takes less than two seconds on a busy machine. */
export const PENDING_READINGS_MAX = 100_000;

/**
 * If limits have changed on many days, their devices wait for a later call: the days have more readings than
 * one call computes. Devices that were waiting continue to wait.
 * @param options.hasChangedLimits limits have changed on days that are not in scope
 * @param options.all true if all devices in scope wait
 * @returns left: the scope without them (`scope` itself if none waits, undefined if nothing is left);
 *   isTooMuch: all devices with changed limits wait
 */
export async function deferDevices(
  context: RollUpContext,
  scope: Scope,
  options: PendingBudget & { hasChangedLimits: boolean; all: boolean },
): Promise<{ left: Scope | undefined; isTooMuch: boolean }> {
  const { readingsMax, completeId, batchId, hasChangedLimits, all } = options;
  const isTooMuch = hasChangedLimits && (await countReadings(context)) > readingsMax;
  if (!isTooMuch && !all && !context.hasDeferred) return { left: scope, isTooMuch };
  await runStatement(context, 'defer_devices', {
    is_too_much: isTooMuch,
    all,
    complete_id: completeId,
    batch_id: batchId,
  });
  context.hasDeferred = true;
  if ((await runStatement(context, 'drop_deferred_scope')) === 0) return { left: scope, isTooMuch };
  await runStatement(context, 'drop_deferred_limits');
  const { series } = await readRow<{ series: bigint }>(context, 'count_scope');
  return { left: series > 0n ? await describeScope(context) : undefined, isTooMuch };
}

async function countReadings(context: RollUpContext): Promise<number> {
  return Number((await readRow<{ readings: bigint }>(context, 'count_readings_of_changed_limits')).readings);
}

/**
 * Takes some of the waiting devices, as if their readings had just arrived. Call it before the rules are
 * read.
 */
export async function loadPending(context: RollUpContext, readingsMax: number): Promise<void> {
  await runStatement(context, 'choose_pending_devices', { readings_max: readingsMax });
  await runStatement(context, 'load_pending_arrivals');
}

/** Touches the time of these devices. */
export async function touchPending(context: RollUpContext): Promise<void> {
  await runStatement(context, 'load_pending_touched');
}

/** Loads the changed limits of these devices. Call it after the series that are set aside are omitted. */
export async function loadPendingLimits(context: RollUpContext): Promise<void> {
  await runStatement(context, 'load_pending_limits');
  await runStatement(context, 'note_changed_limits');
  await runStatement(context, 'apply_pending_reach');
}

/** Joins all stretches into one, because the limits hold in all of them. */
export function asOneStretch(touched: Touched): Touched {
  const [first, last] = [touched.stretches.at(0), touched.stretches.at(-1)];
  const stretches = first && last ? [{ lowMs: first.lowMs, highMs: last.highMs }] : [];
  return { ...touched, stretches };
}

/** Deletes the work that is done, or all. @returns true if other work waits */
export async function deletePending(context: RollUpContext, { all }: { all: boolean }): Promise<boolean> {
  await runStatement(context, 'delete_pending', { all });
  return (await readRow<{ waiting: bigint }>(context, 'count_pending')).waiting > 0n;
}
