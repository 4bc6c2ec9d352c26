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

/** A range of local days, both ends included. */
export interface DaySpan {
  from: LocalDay;
  to: LocalDay;
}

/** The period of a kind that contains a day. */
export function rangeOf(kind: Exclude<PeriodLength, 'other'>, day: LocalDay): DaySpan {
  switch (kind) {
    case 'week':
      return { from: weekStart(day), to: shiftDay(weekStart(day), 6) };
    case 'month':
      return { from: monthStart(day), to: monthEnd(day) };
    case 'year':
      return { from: `${day.slice(0, 4)}-01-01`, to: `${day.slice(0, 4)}-12-31` };
    default:
      return kind satisfies never;
  }
}

/** `other` if the range is not exactly one week, month or year. */
export function kindOf({ from, to }: DaySpan): PeriodLength {
  const kinds = ['week', 'month', 'year'] as const;
  return kinds.find((kind) => rangeOf(kind, from).from === from && rangeOf(kind, from).to === to) ?? 'other';
}

/** The period before (-1) or after (1), of the same kind or the same number of days. */
export function shiftPeriod(period: DaySpan, by: 1 | -1): DaySpan {
  const kind = kindOf(period);
  const { from, to } = period;
  switch (kind) {
    case 'week':
      return rangeOf('week', shiftDay(from, 7 * by));
    case 'month':
      return rangeOf('month', addMonths(from, by));
    case 'year':
      return rangeOf('year', addMonths(from, 12 * by));
    case 'other': {
      const days = countDays(from, to);
      return { from: shiftDay(from, days * by), to: shiftDay(to, days * by) };
    }
    default:
      return kind satisfies never;
  }
}

/** The same period a year before. */
export function yearBefore(period: DaySpan): DaySpan {
  const kind = kindOf(period);
  if (kind === 'month' || kind === 'year') return rangeOf(kind, addMonths(period.from, -12));
  // 52 weeks, so that weekdays are compared with the same weekdays.
  return { from: shiftDay(period.from, -364), to: shiftDay(period.to, -364) };
}

export type Grain = 'day' | 'month' | 'year';

const DAY_COLUMNS_MAX = 92;
const MONTH_COLUMNS_MAX = 36;

/** The length of the columns in which a period is shown. */
export function grainOf({ from, to }: DaySpan): Grain {
  const days = countDays(from, to);
  if (days <= DAY_COLUMNS_MAX) return 'day';
  return days <= MONTH_COLUMNS_MAX * 31 ? 'month' : 'year';
}

/** The columns of a period: its days, months (2026-11) or years (2026), in order. */
export function columnsOf(period: DaySpan, grain: Grain): string[] {
  const length = { day: 10, month: 7, year: 4 }[grain];
  return [...new Set(listDays(period.from, period.to).map((day) => day.slice(0, length)))];
}

/** The days of a column, within the period. */
export function daysOfColumn(column: string, { from, to }: DaySpan): DaySpan {
  const whole =
    column.length === 10
      ? { from: column, to: column }
      : rangeOf(column.length === 7 ? 'month' : 'year', `${column}-01-01`.slice(0, 10));
  return { from: whole.from < from ? from : whole.from, to: whole.to > to ? to : whole.to };
}
