import type { BalanceResolution } from '../../balance/balance-sql.ts';
import { type DayBounds, INTERVAL_MS } from '../../lib/time.ts';
import { includesDay } from '../../roles/role-dates.ts';
import type { CaseSource } from './balance-case.ts';

/**
 * The intervals of a source on a day, as `balance/find_source_interval` returns them. Empty if the source is
 * not present.
 */
export function intervalsOf(
  source: CaseSource,
  { day, startMs, endMs }: DayBounds,
  resolution: BalanceResolution,
) {
  if (!includesDay(source, day)) return [];
  const count = (endMs - startMs) / INTERVAL_MS;
  // A day of zero energy has zero energy in each interval.
  const dayWh = source.dailyWh.get(day);
  return Array.from({ length: count }, (_, index) => {
    const atMs = startMs + index * INTERVAL_MS;
    const hasShape = !dayWh;
    const wh = valueAt(source, atMs, { dayWh, index, count });
    const isKnown = wh !== null && (hasShape || resolution !== 'interval');
    return {
      device: source.device,
      source: source.source,
      own_day: day,
      at_ms: atMs,
      energy_wh: isKnown ? wh : null,
      is_known: isKnown,
      has_shape: hasShape,
      is_estimated: false,
      step_wh: 0,
    };
  });
}

/** Wh of an interval. Daily energy is spread evenly, and the shares add up to the day. */
function valueAt(
  { silent, wh, unlistedWh }: CaseSource,
  atMs: number,
  { dayWh, index, count }: { dayWh: number | null | undefined; index: number; count: number },
): number | null {
  if (silent || dayWh === null) return null;
  if (dayWh !== undefined)
    return Math.round((dayWh * (index + 1)) / count) - Math.round((dayWh * index) / count);
  const listed = wh.get(atMs);
  return listed === undefined ? unlistedWh : listed;
}
