import { useContext } from 'preact/hooks';
import { type LocalDay, today } from '../words/local-days.ts';
import { intervalMs } from '../words/time-units.ts';
import { boundsOfDay } from '../words/zone-days.ts';
import type { Balances, Profiles } from './answers.ts';
import { PageWorkContext } from './page-work.ts';
import { type Answered, useAnswer } from './use-answer.ts';

/** The service adds up all other sources, so that an answer stays below a megabyte. */
const SOURCES_MAX = 100;

/**
 * The profile of a day in any zone. The service has profiles for days in the zone of the workgroup. So a day
 * of another zone is cut out of two of these days.
 * @param day undefined: nothing is asked
 * @param device only this one; undefined for all: the sources with most energy, and the sum of the others
 */
export function useDayProfile(
  day: LocalDay | undefined,
  zone: string,
  device: string | undefined,
): Answered<Profiles[string] | 'none'> {
  const { zone: own } = useContext(PageWorkContext);
  const bounds = day === undefined ? undefined : boundsOfDay(day, zone);
  const [first, last] = !bounds
    ? []
    : zone === own
      ? [day, day]
      : [today(own, bounds.startMs), today(own, bounds.endMs - 1)];
  const only = device ? `&devices=${device}` : '';
  const profiles = useAnswer<Profiles>(
    bounds && `interval-energy?startDate=${first}&endDate=${last}&groupBy=source&top=${SOURCES_MAX}${only}`,
  );
  const profile = profiles.answer && bounds && cutProfile(profiles.answer, bounds);
  return { ...profiles, answer: profiles.answer && (profile ?? 'none') };
}

/** The intervals of some days that lie within bounds. @returns undefined without any source */
export function cutProfile(
  days: Profiles,
  { startMs, endMs }: { startMs: number; endMs: number },
): Profiles[string] | undefined {
  const intervals = Math.round((endMs - startMs) / intervalMs);
  const energyWh: Record<string, Array<number | null>> = {};
  for (const profile of Object.values(days)) {
    const shift = Math.round((Date.parse(profile.start) - startMs) / intervalMs);
    for (const [key, values] of Object.entries(profile.energyWh)) {
      energyWh[key] ??= Array.from({ length: intervals }, () => null);
      for (const [index, wh] of values.entries()) {
        const at = index + shift;
        if (at >= 0 && at < intervals) energyWh[key][at] = wh;
      }
    }
  }
  if (Object.keys(energyWh).length === 0) return undefined;
  return { start: new Date(startMs).toISOString(), intervals, energyWh };
}

/** The balance of a day in any zone: by day for its roles, or by interval. */
export function useDayBalance(
  day: LocalDay | false | undefined,
  zone: string,
  resolution: 'day' | 'interval',
  everyMs?: number,
): Answered<Balances> {
  return useAnswer<Balances>(
    day &&
      `balance?startDate=${day}&endDate=${day}&timezone=${encodeURIComponent(zone)}&resolution=${resolution}`,
    everyMs,
  );
}
