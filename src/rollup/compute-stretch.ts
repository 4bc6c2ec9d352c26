import { deferDevices, type PendingBudget } from './defer-devices.ts';
import { describeScope, divideScope, findScope, type Scope } from './find-scope.ts';
import { asBounds, type Stretch, type Touched } from './find-stretches.ts';
import { judgeBreaks } from './judge-breaks.ts';
import { learnLimits } from './learn-limits.ts';
import { type RollUpContext, readRow, run } from './rollup-context.ts';
import { storeIntervals } from './store-intervals.ts';

/** How a stretch is computed. */
export interface ComputeOptions {
  /** True if rules have changed, so every break in scope is judged again. */
  isRestated: boolean;
  /** Computes a full index for every register, also for one that only grows. For tests that compare both ways. */
  indexAll: boolean;
  /** True if limits have been learnt from the new readings already. */
  hasLearnt?: boolean;
  /** How much work of changed limits this call does; undefined: all. */
  pendingBudget?: PendingBudget;
}

/**
 * Computes the intervals that the changes of a stretch can have touched. New limits, events or high-water marks can reach further; then the scope
 * is widened. Adds the touched days to table `touched_day`.
 */
export async function computeStretch(
  context: RollUpContext,
  stretch: Stretch,
  { firstMs, lastMs, byDay }: Touched,
  options: ComputeOptions,
): Promise<void> {
  const series = await run(context, 'request_stretch', asBounds(stretch));
  const scope = await findScope(context, { ...stretch, series, firstMs, lastMs, byDay });
  if (!scope) return;
  const parts = await divideScope(context, scope);
  if (parts.length === 0) return computeScope(context, scope, options);
  for (const part of parts) {
    await run(context, 'load_scope_part', { part });
    await computeScope(context, await describeScope(context), options);
  }
}

async function computeScope(context: RollUpContext, first: Scope, options: ComputeOptions): Promise<void> {
  let scope = first;
  const learns = scope.learns && !options.hasLearnt;
  let leastPowerW = await findPairs(context, scope, learns);
  const widen = async (question: string) => {
    await run(context, question);
    scope = (await findScope(context))!;
    leastPowerW = await findPairs(context, scope, false);
  };
  const learnt = learns ? await learnLimits(context, scope) : 'same';
  const hasMoved = learnt === 'beyond the scope';
  const deferred =
    options.pendingBudget && (await deferDevices(context, scope, hasMoved, options.pendingBudget));
  const left = deferred ? deferred.left : scope;
  if (left === undefined) return;
  const isLess = left !== scope;
  scope = left;
  if (hasMoved && !deferred?.isMuch) await widen('request_changed_limits');
  else if (isLess) leastPowerW = await findPairs(context, scope, false);
  else if (learnt === 'in scope') leastPowerW = await askLeastPower(context);
  if (await judgeBreaks(context, scope, { ...options, leastPowerW })) await widen('request_changed_events');
  while (await storeIntervals(context, scope, options.indexAll)) await widen('request_after_moved_marks');
  await run(context, 'touch_days', { is_first: !context.hasTouched });
  context.hasTouched = true;
}

/** Sorts the readings in scope into pairs. @returns the lowest limit (W) of the registers in scope; null if there is no register with a limit */
export async function findPairs(
  context: RollUpContext,
  { bounds }: Scope,
  needsAll: boolean,
): Promise<number | null> {
  await run(context, 'load_day_limits', bounds);
  const leastPowerW = await askLeastPower(context);
  await run(context, 'find_pairs', { ...bounds, least_power_w: leastPowerW, needs_all: needsAll });
  return leastPowerW;
}

async function askLeastPower(context: RollUpContext): Promise<number | null> {
  return (await readRow<{ least_power_w: number | null }>(context, 'find_least_limit')).least_power_w;
}
