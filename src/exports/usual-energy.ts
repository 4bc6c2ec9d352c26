import { addDays, daysBetween, type LocalDate } from '../lib/time.ts';

/** The days that give the usual energy of a later day. */
export const USUAL_DAYS = 28;
const WEEKDAYS_MIN = 3;
const DAYS_MIN = 7;

/**
 * The usual energy of a day. It is the mean of the same weekday in the four weeks before, if at least three
 * of these days are known. If not, it is the mean of all known days of these weeks, if there are at least
 * seven.
 * @param energies Wh by day; null or absent: unknown
 * @returns Wh; null if too few days are known
 */
export function usualWh(energies: Readonly<Record<LocalDate, number | null>>, day: LocalDate): number | null {
  const first = addDays(day, -USUAL_DAYS);
  const before = Object.entries(energies).filter(
    (entry): entry is [LocalDate, number] => entry[0] >= first && entry[0] < day && entry[1] !== null,
  );
  const sameWeekday = before.filter(([other]) => daysBetween(other, day) % 7 === 0);
  if (sameWeekday.length >= WEEKDAYS_MIN) return meanOf(sameWeekday);
  return before.length >= DAYS_MIN ? meanOf(before) : null;
}

function meanOf(days: ReadonlyArray<[LocalDate, number]>): number {
  return days.reduce((sum, [, energyWh]) => sum + energyWh, 0) / days.length;
}
