import { findIndexLines } from './find-index-lines.ts';
import type { Scope } from './find-scope.ts';
import { type RollUpContext, runIf, runStatement } from './rollup-context.ts';

/**
 * Replaces the intervals in scope.
 * @returns true if a register has another high-water mark at the end of the scope than before, so the
 *   intervals after it change too
 */
export async function storeIntervals(
  context: RollUpContext,
  scope: Scope,
  { indexAll }: { indexAll: boolean },
): Promise<boolean> {
  const { bounds, methods, hasLater, besidePower } = scope;
  const hasPower = methods.has('power_curve') || methods.has('interval_energy');
  const hasRegisters = methods.has('total_energy') || methods.has('daily_energy');
  if (hasLater) await runStatement(context, 'collect_stored_marks', bounds);
  // The index comes before the delete, because it reads the stored marks of these intervals.
  const hasLines = hasRegisters && (await findIndexLines(context, scope, { all: indexAll }));
  await runStatement(context, 'delete_intervals', bounds);
  if (hasPower) {
    await runStatement(context, 'store_power_intervals');
    await runStatement(context, 'round_intervals');
  }
  if (hasRegisters) {
    // Power is stored first, because it gives the silences of registers their shape.
    await runIf(besidePower, context, 'collect_silence_shape', bounds);
    await runIf(hasLines || methods.size > 1, context, 'collect_not_plain_series');
    await runIf(hasLines, context, 'collect_booked_lines');
    await runIf(hasLines, context, 'collect_line_flags');
    await runStatement(context, 'create_interval_bound');
    await runStatement(context, 'store_register_intervals');
  }
  return hasLater && (await runStatement(context, 'collect_moved_marks', bounds)) > 0;
}
