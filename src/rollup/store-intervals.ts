import { findIndexLines } from './find-index-lines.ts';
import type { Scope } from './find-scope.ts';
import { type RollUpContext, run, runIf } from './rollup-context.ts';

/**
 * Stores the intervals in scope anew.
 * @returns whether a register holds another high-water mark at the end of the scope than before, so that the intervals after it are different as well
 */
export async function storeIntervals(
  context: RollUpContext,
  scope: Scope,
  indexAll: boolean,
): Promise<boolean> {
  const { bounds, methods, hasLater, besidePower } = scope;
  const hasPower = methods.has('power_curve') || methods.has('interval_energy');
  const hasRegisters = methods.has('total_energy') || methods.has('daily_energy');
  if (hasLater) await run(context, 'find_stored_marks', bounds);
  // Registers are read before their intervals go, because the marks that they held are there.
  const hasLines = hasRegisters && (await findIndexLines(context, scope, indexAll));
  await run(context, 'delete_intervals', bounds);
  if (hasPower) {
    await run(context, 'store_power_intervals');
    await run(context, 'round_intervals');
  }
  if (hasRegisters) {
    // Power first, because it shapes the silences of the registers beside it.
    await runIf(besidePower, context, 'find_silence_shape', bounds);
    await runIf(hasLines || methods.size > 1, context, 'find_not_plain_series');
    const { runAll = false } = context;
    await run(context, 'store_register_intervals', { lines: hasLines || runAll });
  }
  return hasLater && (await run(context, 'find_moved_marks', bounds)) > 0;
}
