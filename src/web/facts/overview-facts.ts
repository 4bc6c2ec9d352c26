import { type LocalDay, shiftDay } from '../words/local-days.ts';
import type { BalanceRole } from '../words/role-words.ts';
import { dayMs, hourMs, intervalMs, minuteMs } from '../words/time-units.ts';
import type { Balance, Balances, DayDetails, DeviceStatuses, Profiles } from './answers.ts';
import { presentRoles, valueOfRole } from './energy-columns.ts';
import { splitSeries } from './series.ts';
import { sumOfKnown } from './sum-of-known.ts';

const LATE_MS = 2 * hourMs;
/** What is usual is the median of this many days before. */
const USUAL_DAYS = 28;
/** With fewer known days than this, nothing counts as usual. */
const USUAL_DAYS_MIN = 5;

/** A number of a day, and the median of the days before. */
export interface Compared {
  wh: number | null;
  usualWh: number | undefined;
}

/** The value of a day, and the median of the `USUAL_DAYS` before it that are known. */
export function comparedWithUsual(
  whOf: (day: LocalDay) => number | null | undefined,
  day: LocalDay,
): Compared {
  const before = Array.from({ length: USUAL_DAYS }, (_, index) => whOf(shiftDay(day, -1 - index)))
    .filter((wh) => wh != null)
    .sort((a, b) => a - b);
  const middle = before.length / 2;
  const median =
    before.length % 2 === 1
      ? before[Math.floor(middle)]!
      : Math.round((before[middle - 1]! + before[middle]!) / 2);
  return { wh: whOf(day) ?? null, usualWh: before.length < USUAL_DAYS_MIN ? undefined : median };
}

/** The first day with energy; undefined without any. */
export function firstDayOf(details: DayDetails): LocalDay | undefined {
  return Object.keys(details)
    .sort()
    .find((day) => Object.keys(details[day]!).length > 0);
}

/** All series of a day together; null if nothing of it is known. */
export function sumOfDay(
  details: DayDetails,
  day: LocalDay,
  chosen: (key: string) => boolean,
): number | null {
  return sumOfKnown(
    Object.entries(details[day] ?? {}).map(([key, { energyWh }]) => (chosen(key) ? energyWh : null)),
  );
}

/** The same for the days of the month of `today`. */
export function sumOfMonthSoFar(
  details: DayDetails,
  today: LocalDay,
  chosen: (key: string) => boolean,
): number | null {
  const days = Object.keys(details).filter((day) => day.startsWith(today.slice(0, 7)));
  return sumOfKnown(days.map((day) => sumOfDay(details, day, chosen)));
}

/**
 * The time of a day that is not measured (ms, whole minutes), of the series that lacks the most. 0 if
 * everything is measured.
 */
export function missingOfDay(details: DayDetails, day: LocalDay, chosen: (key: string) => boolean): number {
  const missing = Object.entries(details[day] ?? {}).flatMap(([key, { coverage, flags }]) =>
    chosen(key) && flags.includes('partial') ? [(1 - coverage) * dayMs] : [],
  );
  return Math.ceil(Math.max(0, ...missing) / minuteMs) * minuteMs;
}

/**
 * The sum of a month to date over the days that are known. Days before the first data do not count as
 * unknown. Neither does today: its balance is complete only after the first readings of tomorrow.
 */
export function sumOfMonth(
  balances: Balances,
  today: LocalDay,
  firstDay: LocalDay,
  whOf: (balance: Balance) => number | null,
) {
  const days = Object.entries(balances).filter(
    ([day]) => day.startsWith(today.slice(0, 7)) && day >= firstDay,
  );
  const past = days.filter(([day]) => day !== today);
  return {
    wh: sumOfKnown(days.map(([, balance]) => whOf(balance))),
    unknownDays: past.filter(([, balance]) => whOf(balance) === null).length,
    hasToday: balances[today] !== undefined && whOf(balances[today]) !== null,
  };
}

/**
 * The instant up to which the energy of today is known. It is the earliest end of the known intervals over
 * all sources. Sources of devices that are offline are left out.
 * @returns undefined if nothing of today is known
 */
export function completeUpTo(
  profile: Profiles[string] | undefined,
  statuses: DeviceStatuses,
): number | undefined {
  if (!profile) return undefined;
  const ends = Object.entries(profile.energyWh)
    .filter(([key]) => statuses[splitSeries(key).device]?.state !== 'offline')
    .map(([, values]) => values.findLastIndex((wh) => wh !== null) + 1)
    .filter((end) => end > 0);
  return ends.length === 0 ? undefined : Date.parse(profile.start) + Math.min(...ends) * intervalMs;
}

/**
 * The power of a recent interval, from its energy. Of the last two hours with data, it takes the interval
 * with the most known values, because the newest interval can lack devices whose data comes late. Powers are
 * in W; null if not known, or if the site has no source of this role.
 * @param quarters the balance of each interval of a day, by the start of the interval
 * @param measured roles that have a source. Before sunrise a roof has produced 0 Wh, and is still named
 * @returns undefined if nothing is known
 */
export function lastQuarter(quarters: Balances, measured: ReadonlySet<BalanceRole>) {
  const known = Object.entries(quarters)
    .map(([start, balance]) => ({ startMs: Date.parse(start), balance, count: countKnown(balance) }))
    .filter(({ count }) => count > 0)
    .sort((a, b) => a.startMs - b.startMs);
  const lateMs = (known.at(-1)?.startMs ?? 0) - LATE_MS;
  const last = known
    .filter(({ startMs }) => startMs >= lateMs)
    .reduce<(typeof known)[number] | undefined>(
      (best, one) => (best && best.count > one.count ? best : one),
      undefined,
    );
  if (!last) return undefined;
  const { startMs, balance } = last;
  // A balance has zeros for roles that a site does not have.
  const present = new Set(presentRoles(Object.values(quarters), measured));
  const watts = (role: BalanceRole) => {
    const wh = present.has(role) ? valueOfRole[role](balance) : null;
    return wh === null ? null : (wh * hourMs) / intervalMs;
  };
  return {
    startMs,
    endMs: startMs + intervalMs,
    productionW: watts('production'),
    consumptionW: watts('consumption'),
    gridImportW: watts('grid_import'),
  };
}

function countKnown({ productionWh, consumptionWh, gridImportWh }: Balance): number {
  return [productionWh, consumptionWh, gridImportWh].filter((wh) => wh !== null).length;
}
