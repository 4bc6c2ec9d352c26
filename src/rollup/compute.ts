import { judgeBreaks } from './events.ts';
import { storeIntervals } from './intervals.ts';
import { learnLimits } from './limits.ts';
import { deferMoved, type Steps } from './pending.ts';
import { describeScope, divideScope, findScope, type Scope } from './scope.ts';
import { asBounds, type Stretch, type Touched } from './stretches.ts';
import { ask, run, type Working } from './working.ts';

/** How a stretch is computed. */
export interface ComputeOptions {
  /** Rules have changed, so every break in scope is judged again. */
  isRestated: boolean;
  /** Every register gets an index, also one that only grows: to compare both ways. */
  indexAll: boolean;
  /** Limits have been learnt from the new readings already. */
  hasLearnt?: boolean;
  /** How much of what a moved limit touches is computed now; undefined: all. */
  steps?: Steps;
}

/**
 * Computes the intervals again that the changes of a stretch can have touched. What is found out on the way may reach further (a limit, an event, a
 * high-water mark): then that is computed as well. Notes the days that it has touched.
 */
export async function computeStretch(
  working: Working,
  stretch: Stretch,
  { firstMs, lastMs, byDay }: Touched,
  options: ComputeOptions,
): Promise<void> {
  const series = await run(working, 'ask', asBounds(stretch));
  const scope = await findScope(working, { ...stretch, series, firstMs, lastMs, byDay });
  if (!scope) return;
  const parts = await divideScope(working, scope);
  if (parts.length === 0) return computeScope(working, scope, options);
  for (const part of parts) {
    await run(working, 'take_part', { part });
    await computeScope(working, await describeScope(working), options);
  }
}

async function computeScope(working: Working, first: Scope, options: ComputeOptions): Promise<void> {
  let scope = first;
  const learns = scope.learns && !options.hasLearnt;
  let leastPowerW = await findPairs(working, scope, learns);
  const widen = async (question: string) => {
    await run(working, question);
    scope = (await findScope(working))!;
    leastPowerW = await findPairs(working, scope, false);
  };
  const learnt = learns ? await learnLimits(working, scope) : 'same';
  const hasMoved = learnt === 'beyond the scope';
  const deferred = options.steps && (await deferMoved(working, scope, hasMoved, options.steps));
  const left = deferred ? deferred.left : scope;
  if (left === undefined) return;
  const isLess = left !== scope;
  scope = left;
  if (hasMoved && !deferred?.isMuch) await widen('ask_limits');
  else if (isLess) leastPowerW = await findPairs(working, scope, false);
  else if (learnt === 'in scope') leastPowerW = await askLeastPower(working);
  if (await judgeBreaks(working, scope, { ...options, leastPowerW })) await widen('ask_events');
  while (await storeIntervals(working, scope, options.indexAll)) await widen('ask_marks');
  await run(working, 'touch_days', { is_first: !working.hasTouched });
  working.hasTouched = true;
}

/** Puts the readings in scope in order. @returns the least limit (W) of any register in scope; null: of a net register, which has none */
export async function findPairs(
  working: Working,
  { bounds }: Scope,
  needsAll: boolean,
): Promise<number | null> {
  await run(working, 'take_limits', bounds);
  const leastPowerW = await askLeastPower(working);
  await run(working, 'find_pairs', { ...bounds, least_power_w: leastPowerW, needs_all: needsAll });
  return leastPowerW;
}

async function askLeastPower(working: Working): Promise<number | null> {
  return (await ask<{ least_power_w: number | null }>(working, 'least_power')).least_power_w;
}
