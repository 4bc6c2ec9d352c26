import {
  addDays,
  addMonths,
  countDays,
  type Day,
  listDays,
  monthEnd,
  monthStart,
  weekStart,
} from './local-days.ts';

export type PeriodKind = 'week' | 'month' | 'year' | 'other';

/** A range of local days, both ends included. */
export interface Period {
  from: Day;
  to: Day;
}

/** The period of a kind that contains a day. */
export function periodOf(kind: Exclude<PeriodKind, 'other'>, day: Day): Period {
  switch (kind) {
    case 'week':
      return { from: weekStart(day), to: addDays(weekStart(day), 6) };
    case 'month':
      return { from: monthStart(day), to: monthEnd(day) };
    case 'year':
      return { from: `${day.slice(0, 4)}-01-01`, to: `${day.slice(0, 4)}-12-31` };
    default:
      return kind satisfies never;
  }
}

/** `other` if the range is not exactly one week, month or year. */
export function kindOf({ from, to }: Period): PeriodKind {
  const kinds = ['week', 'month', 'year'] as const;
  return (
    kinds.find((kind) => periodOf(kind, from).from === from && periodOf(kind, from).to === to) ?? 'other'
  );
}

/** The period before (-1) or after (1), of the same kind or the same number of days. */
export function shiftPeriod(period: Period, by: 1 | -1): Period {
  const kind = kindOf(period);
  const { from, to } = period;
  switch (kind) {
    case 'week':
      return periodOf('week', addDays(from, 7 * by));
    case 'month':
      return periodOf('month', addMonths(from, by));
    case 'year':
      return periodOf('year', addMonths(from, 12 * by));
    case 'other': {
      const days = countDays(from, to);
      return { from: addDays(from, days * by), to: addDays(to, days * by) };
    }
    default:
      return kind satisfies never;
  }
}

/** The same period a year before. */
export function yearBefore(period: Period): Period {
  const kind = kindOf(period);
  if (kind === 'month' || kind === 'year') return periodOf(kind, addMonths(period.from, -12));
  // 52 weeks, so that weekdays are compared with the same weekdays.
  return { from: addDays(period.from, -364), to: addDays(period.to, -364) };
}

export type Grain = 'day' | 'month' | 'year';

const DAY_COLUMNS_MAX = 92;
const MONTH_COLUMNS_MAX = 36;

/** The length of the columns in which a period is shown. */
export function grainOf({ from, to }: Period): Grain {
  const days = countDays(from, to);
  if (days <= DAY_COLUMNS_MAX) return 'day';
  return days <= MONTH_COLUMNS_MAX * 31 ? 'month' : 'year';
}

/** The columns of a period: its days, months (2026-11) or years (2026), in order. */
export function columnsOf(period: Period, grain: Grain): string[] {
  const length = { day: 10, month: 7, year: 4 }[grain];
  return [...new Set(listDays(period.from, period.to).map((day) => day.slice(0, length)))];
}

/** The days of a column, within the period. */
export function daysOfColumn(column: string, { from, to }: Period): Period {
  const whole =
    column.length === 10
      ? { from: column, to: column }
      : periodOf(column.length === 7 ? 'month' : 'year', `${column}-01-01`.slice(0, 10));
  return { from: whole.from < from ? from : whole.from, to: whole.to > to ? to : whole.to };
}
