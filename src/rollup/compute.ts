import { judgeBreaks } from './events.ts';
import { storeIntervals } from './intervals.ts';
import { learnLimits } from './limits.ts';
import { describeScope, divideScope, findScope, type Scope } from './scope.ts';
import { asBounds, type Stretch } from './stretches.ts';
import { ask, run, type Working } from './working.ts';

/** How a stretch is computed. */
export interface ComputeOptions {
  /** Rules have changed, so every break in scope is judged again. */
  isRestated: boolean;
  /** Every register gets an index, also one that only grows: to compare both ways. */
  indexAll: boolean;
}

/**
 * Computes the intervals again that the changes of a stretch can have touched. What is found out on the way may reach further (a limit, an event, a
 * high-water mark): then that is computed as well. Notes the days that it has touched.
 */
export async function computeStretch(
  working: Working,
  stretch: Stretch,
  options: ComputeOptions,
): Promise<void> {
  await run(working, 'ask', asBounds(stretch));
  const scope = await findScope(working);
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
  const widen = async (question: string, needsAll = false) => {
    await run(working, question);
    scope = (await findScope(working))!;
    await findPairs(working, scope, needsAll);
  };
  await findPairs(working, scope, scope.learns);
  if (scope.learns && (await learnLimits(working, scope)) === 'beyond the scope') await widen('ask_limits');
  if (await judgeBreaks(working, scope, options.isRestated)) await widen('ask_events');
  while (await storeIntervals(working, scope, options.indexAll)) await widen('ask_marks');
  await run(working, 'touch_days');
}

/** Puts the readings in scope in order. */
export async function findPairs(working: Working, { bounds }: Scope, needsAll: boolean): Promise<void> {
  await run(working, 'take_limits', bounds);
  const { least_power_w } = await ask<{ least_power_w: number | null }>(working, 'least_power');
  await run(working, 'find_pairs', { ...bounds, least_power_w, needs_all: needsAll });
}
