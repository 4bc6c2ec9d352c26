import {
  addMonths,
  countDays,
  type LocalDay,
  listDays,
  monthEnd,
  monthStart,
  shiftDay,
  weekStart,
} from './local-days.ts';

type PeriodLength = 'week' | 'month' | 'year' | 'other';

/** A period of local days, both ends included. */
export interface ShownPeriod {
  from: LocalDay;
  to: LocalDay;
}

/** The week, month or year that contains a day. */
export function periodAround(length: Exclude<PeriodLength, 'other'>, day: LocalDay): ShownPeriod {
  switch (length) {
    case 'week':
      return { from: weekStart(day), to: shiftDay(weekStart(day), 6) };
    case 'month':
      return { from: monthStart(day), to: monthEnd(day) };
    case 'year':
      return { from: `${day.slice(0, 4)}-01-01`, to: `${day.slice(0, 4)}-12-31` };
    default:
      return length satisfies never;
  }
}

/** `other` if the period is not exactly one week, month or year. */
export function lengthOf({ from, to }: ShownPeriod): PeriodLength {
  const lengths = ['week', 'month', 'year'] as const;
  const isOf = (length: (typeof lengths)[number]) => {
    const period = periodAround(length, from);
    return period.from === from && period.to === to;
  };
  return lengths.find(isOf) ?? 'other';
}

/** The period before (-1) or after (1), of the same length or the same number of days. */
export function shiftPeriod(period: ShownPeriod, by: 1 | -1): ShownPeriod {
  const length = lengthOf(period);
  const { from, to } = period;
  switch (length) {
    case 'week':
      return periodAround('week', shiftDay(from, 7 * by));
    case 'month':
      return periodAround('month', addMonths(from, by));
    case 'year':
      return periodAround('year', addMonths(from, 12 * by));
    case 'other': {
      const days = countDays(from, to);
      return { from: shiftDay(from, days * by), to: shiftDay(to, days * by) };
    }
    default:
      return length satisfies never;
  }
}

export type Grain = 'day' | 'month' | 'year';

const DAY_COLUMNS_MAX = 92;
/** About three years. Longer periods have columns of years. */
const MONTH_GRAIN_DAYS_MAX = 36 * 31;

/** The length of the columns in which a period is shown. */
export function grainOf({ from, to }: ShownPeriod): Grain {
  const days = countDays(from, to);
  if (days <= DAY_COLUMNS_MAX) return 'day';
  return days <= MONTH_GRAIN_DAYS_MAX ? 'month' : 'year';
}

/** The columns of a period: its days, months (2026-11) or years (2026), in order. */
export function columnsOf(period: ShownPeriod, grain: Grain): string[] {
  const characters = { day: 10, month: 7, year: 4 }[grain];
  return [...new Set(listDays(period.from, period.to).map((day) => day.slice(0, characters)))];
}

/** The days of a column, within the period. */
export function daysOfColumn(column: string, { from, to }: ShownPeriod): ShownPeriod {
  const whole = wholeColumn(column);
  return { from: whole.from < from ? from : whole.from, to: whole.to > to ? to : whole.to };
}

/** True if a column is over, and the period has all of its days. */
export function isWholeColumn(column: string, { from, to }: ShownPeriod, today: LocalDay): boolean {
  const whole = wholeColumn(column);
  return whole.from >= from && whole.to <= to && whole.to < today;
}

function wholeColumn(column: string): ShownPeriod {
  if (column.length === 10) return { from: column, to: column };
  return periodAround(column.length === 7 ? 'month' : 'year', `${column}-01-01`.slice(0, 10));
}

/**
 * The period before, to compare its columns one by one. If the columns are months or years, it is moved by as
 * many whole ones, so that it begins and ends in the same part of them.
 */
export function periodBefore(period: ShownPeriod): ShownPeriod {
  const grain = grainOf(period);
  if (grain === 'day') return shiftPeriod(period, -1);
  return monthsBefore(period, columnsOf(period, grain).length * (grain === 'year' ? 12 : 1));
}

/** The same period a year before. */
export function yearBefore(period: ShownPeriod): ShownPeriod {
  const length = lengthOf(period);
  if (length === 'month' || length === 'year' || grainOf(period) !== 'day') return monthsBefore(period, 12);
  // 52 weeks, so that weekdays are compared with the same weekdays.
  return { from: shiftDay(period.from, -364), to: shiftDay(period.to, -364) };
}

function monthsBefore({ from, to }: ShownPeriod, count: number): ShownPeriod {
  const last = addMonths(to, -count);
  return { from: addMonths(from, -count), to: to === monthEnd(to) ? monthEnd(last) : last };
}
