import { DAY_MS } from '../lib/time.ts';
import type { Scope } from './find-scope.ts';
import { type RollUpContext, readRow, runStatement } from './rollup-context.ts';

/**
 * Learns the usual values of each day from the new readings in scope (power, resolution, time between
 * readings), for limits that are not configured. The limits of a day follow from that day, the days before it
 * and the days that end before it is closed.
 * @returns whether limits have changed, and on which days
 */
export async function learnLimits(
  context: RollUpContext,
  { bounds }: Scope,
): Promise<'same' | 'in scope' | 'beyond the scope'> {
  const day = BigInt(DAY_MS);
  const days = { low_ms: (bounds.low_ms / day) * day, high_ms: (bounds.high_ms / day + 1n) * day - 1n };
  await runStatement(context, 'delete_quarters', bounds);
  await runStatement(context, 'store_quarters');
  const different = await runStatement(context, 'summarize_days', days);
  if (different === 0) return 'same';
  const known = await runStatement(context, 'update_known_days');
  if (known < different || context.runAll) await runStatement(context, 'store_new_days');
  if ((await runStatement(context, 'collect_limits', { look_ahead: lookAheadDays(context) })) === 0)
    return 'same';
  await runStatement(context, 'store_limits');
  await runStatement(context, 'store_series_steps');
  await runStatement(context, 'note_changed_limits');
  await runStatement(context, 'load_day_limits', bounds);
  await runStatement(context, 'apply_series_steps');
  const { count } = await readRow<{ count: bigint }>(context, 'count_limits_beyond_scope');
  return count > 0n ? 'beyond the scope' : 'in scope';
}

/**
 * The number of later days that are certainly over when a day is closed. The last of them is not counted,
 * because it can still be incomplete.
 */
export function lookAheadDays({ closeAfterMs }: RollUpContext): number {
  return Math.max(0, Math.floor(closeAfterMs / DAY_MS) - 1);
}
