import { deferDevices, type PendingBudget } from './defer-devices.ts';
import { describeScope, divideScope, findScope, type Scope } from './find-scope.ts';
import { asBounds, type Stretch, type Touched } from './find-stretches.ts';
import { judgeBreaks } from './judge-breaks.ts';
import { learnLimits } from './learn-limits.ts';
import { type RollUpContext, readRow, runStatement } from './rollup-context.ts';
import { storeIntervals } from './store-intervals.ts';

/** How a stretch is computed. */
interface ComputeOptions {
  /** True if rules have changed, so every break in scope is judged again. */
  isRestated: boolean;
  /**
   * Computes a full index for every register, also for one that only grows. For tests that compare both ways.
   */
  indexAll: boolean;
  /** True if limits have been learnt from the new readings already. */
  hasLearnt?: boolean;
  /** How much work of changed limits this call does; undefined: all. */
  pendingBudget?: PendingBudget;
  /**
   * The maximum number of intervals of silences that this call computes. It computes at least one source.
   * Undefined: all.
   */
  intervalsMax?: bigint;
  /** True if all devices in scope wait for a later call. Their limits are learnt now. */
  allWait?: boolean;
}

/**
 * Computes the intervals that the changes of a stretch can have touched. New limits, events or high-water
 * marks can reach further; then the scope is widened. Adds the touched days to table `touched_day`.
 */
export async function computeStretch(
  context: RollUpContext,
  stretch: Stretch,
  { firstMs, lastMs, byDay }: Touched,
  options: ComputeOptions,
): Promise<void> {
  const series = await runStatement(context, 'request_stretch', asBounds(stretch));
  const scope = await findScope(context, { ...stretch, series, firstMs, lastMs, byDay });
  if (!scope) return;
  const { intervalsMax } = options;
  const isEnough = () => intervalsMax !== undefined && (context.computedIntervals ?? 0n) >= intervalsMax;
  if (isEnough()) return leaveScope(context, scope, options);
  const parts = await divideScope(context, scope, intervalsMax);
  if (parts.length === 0) return computeScope(context, scope, options);
  for (const part of parts) {
    const isLeft = isEnough();
    await runStatement(context, 'load_scope_parts', { first: part, last: isLeft ? parts.at(-1)! : part });
    const loaded = await describeScope(context);
    if (isLeft) return leaveScope(context, loaded, options);
    await computeScope(context, loaded, options);
  }
}

/**
 * Leaves a scope to a later call. Its limits are learnt now. The limits of waiting devices were learnt
 * before.
 */
async function leaveScope(context: RollUpContext, scope: Scope, options: ComputeOptions): Promise<void> {
  if (options.pendingBudget) await pairAndLearn(context, scope, { ...options, allWait: true });
  else await runStatement(context, 'leave_scope');
}

/**
 * Computes the intervals of a scope, in the order of the chapters 40 to 70. A step can find that its changes
 * reach beyond the scope. Then the scope is widened, and its pairs are found again.
 */
async function computeScope(context: RollUpContext, first: Scope, options: ComputeOptions): Promise<void> {
  context.computedIntervals = (context.computedIntervals ?? 0n) + first.intervals;
  const paired = await pairAndLearn(context, first, options);
  if (paired === undefined) return;
  let { scope, leastPowerW } = paired;
  const widen = async (statement: WideningStatement) => {
    ({ scope, leastPowerW } = await widenScope(context, statement));
  };
  if (await judgeBreaks(context, scope, { ...options, leastPowerW })) await widen('collect_time_of_events');
  while (await storeIntervals(context, scope, options)) await widen('collect_time_after_moved_marks');
  await runStatement(context, 'touch_days');
}

/**
 * A scope whose readings are in pairs. leastPowerW: the lowest limit (W) of its registers; null if no
 * register has a limit.
 */
interface PairedScope {
  scope: Scope;
  leastPowerW: number | null;
}

/** The statements that find how far a change reaches beyond the scope. */
type WideningStatement =
  | 'collect_time_of_limits'
  | 'collect_time_of_events'
  | 'collect_time_after_moved_marks';

async function widenScope(context: RollUpContext, statement: WideningStatement): Promise<PairedScope> {
  await runStatement(context, statement);
  await runStatement(context, 'request_wider_time');
  const scope = (await findScope(context))!;
  return { scope, leastPowerW: await findPairs(context, scope, { needsAll: false }) };
}

/**
 * Finds the pairs of a scope and learns limits from them. Devices whose limits have changed on many days wait
 * for a later call.
 * @returns the scope without devices that wait; undefined if nothing is left
 */
async function pairAndLearn(
  context: RollUpContext,
  scope: Scope,
  { hasLearnt, pendingBudget, allWait = false }: ComputeOptions,
): Promise<PairedScope | undefined> {
  const learns = scope.learns && !hasLearnt;
  const leastPowerW = await findPairs(context, scope, { needsAll: learns });
  const learnt = learns ? await learnLimits(context, scope) : 'same';
  const hasChangedLimits = learnt === 'beyond the scope';
  const deferred =
    pendingBudget &&
    (await deferDevices(context, scope, { ...pendingBudget, hasChangedLimits, all: allWait }));
  const left = deferred ? deferred.left : scope;
  if (left === undefined) return undefined;
  if (hasChangedLimits && !deferred?.isTooMuch) return widenScope(context, 'collect_time_of_limits');
  if (left !== scope)
    return { scope: left, leastPowerW: await findPairs(context, left, { needsAll: false }) };
  return { scope, leastPowerW: learnt === 'in scope' ? await findLeastPower(context) : leastPowerW };
}

/**
 * Sorts the readings in scope into pairs.
 * @param needsAll true if also pairs that only grow are needed, from which limits are learnt
 * @returns the lowest limit (W) of the registers in scope; null if there is no register with a limit
 */
export async function findPairs(
  context: RollUpContext,
  { bounds }: Scope,
  { needsAll }: { needsAll: boolean },
): Promise<number | null> {
  await runStatement(context, 'load_day_limits', bounds);
  const leastPowerW = await findLeastPower(context);
  await runStatement(context, 'collect_pairs', {
    ...bounds,
    least_power_w: leastPowerW,
    needs_all: needsAll,
  });
  return leastPowerW;
}

async function findLeastPower(context: RollUpContext): Promise<number | null> {
  return (await readRow<{ least_power_w: number | null }>(context, 'read_least_limit')).least_power_w;
}
