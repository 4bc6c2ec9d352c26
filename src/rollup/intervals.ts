import { findIndexLines } from './index-lines.ts';
import type { Scope } from './scope.ts';
import { run, runIf, type Working } from './working.ts';

/**
 * Stores the intervals in scope anew.
 * @returns whether a register holds another high-water mark at the end of the scope than before, so that the intervals after it are different as well
 */
export async function storeIntervals(working: Working, scope: Scope, indexAll: boolean): Promise<boolean> {
  const { bounds, methods, goesOn, shaped } = scope;
  const hasPower = methods.has('power_curve') || methods.has('interval_energy');
  const hasRegisters = methods.has('total_energy') || methods.has('daily_energy');
  if (goesOn) await run(working, 'find_marks', bounds);
  // Registers are read before their intervals go, because the marks that they held are there.
  const hasLines = hasRegisters && (await findIndexLines(working, scope, indexAll));
  await run(working, 'forget_intervals', bounds);
  if (hasPower) {
    await run(working, 'store_power_intervals');
    await run(working, 'round_intervals');
  }
  if (hasRegisters) {
    // Power first, because it shapes the silences of the registers beside it.
    await runIf(shaped, working, 'find_shape', bounds);
    await runIf(hasLines || methods.size > 1, working, 'find_indexed');
    const { runAll = false } = working;
    await run(working, 'store_register_intervals', { lines: hasLines || runAll });
  }
  return goesOn && (await run(working, 'find_moved_marks', bounds)) > 0;
}
