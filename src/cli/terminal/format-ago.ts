import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS, type UtcMs } from '../../lib/time.ts';

/**
 * How long ago an instant is, in the largest unit with a value of two or more: `12 min ago`. `-` without an
 * instant.
 */
export function formatAgo(ms: UtcMs | undefined, nowMs: UtcMs): string {
  if (ms === undefined) return '-';
  const passedMs = Math.max(0, nowMs - ms);
  const [unit, unitMs] = units.find(([, each]) => passedMs >= 2 * each) ?? (['s', SECOND_MS] as const);
  return `${Math.round(passedMs / unitMs)} ${unit} ago`;
}

const units = [
  ['d', DAY_MS],
  ['h', HOUR_MS],
  ['min', MINUTE_MS],
] as const;
