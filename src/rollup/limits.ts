import { DAY_MS } from '../lib/time.ts';
import type { Scope } from './scope.ts';
import { ask, run, type Working } from './working.ts';

/**
 * Learns from the new readings in scope what is usual for their series on each day (power, resolution, time between readings), for the limits that
 * the configuration leaves open. The limits of a day depend on the readings of that day, of the days before it and of the days that come before it
 * is closed.
 * @returns whether limits have changed, and on which days
 */
export async function learnLimits(
  working: Working,
  { bounds }: Scope,
): Promise<'same' | 'in scope' | 'beyond the scope'> {
  const day = BigInt(DAY_MS);
  const days = { low_ms: (bounds.low_ms / day) * day, high_ms: (bounds.high_ms / day + 1n) * day - 1n };
  await run(working, 'forget_quarters', bounds);
  await run(working, 'store_quarters');
  const different = await run(working, 'find_days', days);
  if (different === 0) return 'same';
  const known = await run(working, 'renew_days');
  if (known < different || working.runAll) await run(working, 'store_days_learnt');
  if ((await run(working, 'find_limits', { look_ahead: lookAheadDays(working) })) === 0) return 'same';
  await run(working, 'store_limits');
  await run(working, 'store_step');
  await run(working, 'note_limits');
  await run(working, 'take_limits', bounds);
  await run(working, 'take_step');
  const { count } = await ask<{ count: bigint }>(working, 'count_beyond');
  return count > 0n ? 'beyond the scope' : 'in scope';
}

/** How many days after a day have come for certain before it is closed: the last one before may still be on its way. */
export function lookAheadDays({ closeAfterMs }: Working): number {
  return Math.max(0, Math.floor(closeAfterMs / DAY_MS) - 1);
}
