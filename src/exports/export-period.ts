import type { ExportConfig } from '../config/export-settings.ts';
import {
  addDays,
  firstDayOfMonth,
  isLocalDate,
  type LocalDate,
  lastDayOfMonth,
  localDateOf,
  type UtcMs,
} from '../lib/time.ts';

/**
 * The days of one run of an export, and their name: `2026-11-20`, `2026-11`, `2026` or
 * `2026-11-14_to_2026-11-20`.
 */
export interface ExportPeriod {
  name: string;
  startDay: LocalDate;
  endDay: LocalDate;
}

/** The days of a range at an instant in the workgroup's zone. All of them have ended. */
export function periodAt(range: ExportConfig['range'], nowMs: UtcMs, zone: string): ExportPeriod {
  const today = localDateOf(nowMs, zone);
  const yesterday = addDays(today, -1);
  switch (range) {
    case 'yesterday':
      return periodOf(yesterday, yesterday);
    case 'last_7_days':
      return periodOf(addDays(today, -7), yesterday);
    case 'last_week': {
      const sinceMonday = (new Date(`${today}T00:00:00Z`).getUTCDay() + 6) % 7;
      return periodOf(addDays(today, -sinceMonday - 7), addDays(today, -sinceMonday - 1));
    }
    case 'last_month': {
      const last = addDays(firstDayOfMonth(today), -1);
      return periodOf(firstDayOfMonth(last), last);
    }
    case 'month_to_date':
      return periodOf(firstDayOfMonth(yesterday), yesterday);
    case 'last_year': {
      const year = Number(today.slice(0, 4)) - 1;
      return periodOf(`${year}-01-01`, `${year}-12-31`);
    }
    case 'year_to_date':
      return periodOf(`${yesterday.slice(0, 4)}-01-01`, yesterday);
    default:
      return range satisfies never;
  }
}

/** Reads the name of a period. @returns undefined if it names no days */
export function parsePeriod(text: string): ExportPeriod | undefined {
  if (/^\d{4}$/.test(text) && text !== '0000') return periodOf(`${text}-01-01`, `${text}-12-31`);
  if (/^\d{4}-\d{2}$/.test(text) && isLocalDate(`${text}-01`))
    return periodOf(`${text}-01`, lastDayOfMonth(`${text}-01`));
  const [start = '', end = start, ...rest] = text.split('_to_');
  if (rest.length > 0 || !isLocalDate(start) || !isLocalDate(end) || end < start) return undefined;
  return periodOf(start, end);
}

/** The same days always get the same name, so nothing is exported twice. */
function periodOf(startDay: LocalDate, endDay: LocalDate): ExportPeriod {
  const named = (name: string) => ({ name, startDay, endDay });
  if (startDay === endDay) return named(startDay);
  if (startDay === firstDayOfMonth(startDay) && endDay === lastDayOfMonth(startDay))
    return named(startDay.slice(0, 7));
  const year = startDay.slice(0, 4);
  if (startDay === `${year}-01-01` && endDay === `${year}-12-31`) return named(year);
  return named(`${startDay}_to_${endDay}`);
}
