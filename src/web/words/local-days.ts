import { dayMs } from './time-units.ts';

/** Arithmetic of local days, which are texts such as 2026-11-20. It needs no time zone. */
export type LocalDay = string;

export function isDay(text: string | undefined): text is LocalDay {
  if (text === undefined || !/^\d{4}-\d\d-\d\d$/.test(text)) return false;
  const ms = Date.parse(`${text}T00:00:00Z`);
  return !Number.isNaN(ms) && dayAt(ms) === text;
}

export function shiftDay(day: LocalDay, count: number): LocalDay {
  return dayAt(msOf(day) + count * dayMs);
}

/** The number of days from the first to the last, both included. */
export function countDays(first: LocalDay, last: LocalDay): number {
  return Math.round((msOf(last) - msOf(first)) / dayMs) + 1;
}

/** All days from the first to the last, both included. */
export function listDays(first: LocalDay, last: LocalDay): LocalDay[] {
  return Array.from({ length: Math.max(0, countDays(first, last)) }, (_, index) => shiftDay(first, index));
}

/** The current day in a time zone. */
export function today(zone: string, nowMs = Date.now()): LocalDay {
  // Swedish dates are ISO 8601.
  return new Intl.DateTimeFormat('sv', { timeZone: zone, dateStyle: 'short' }).format(nowMs);
}

/** Weeks begin on Monday. */
export function weekStart(day: LocalDay): LocalDay {
  return shiftDay(day, -((new Date(msOf(day)).getUTCDay() + 6) % 7));
}

export function monthStart(day: LocalDay): LocalDay {
  return `${day.slice(0, 7)}-01`;
}

export function monthEnd(day: LocalDay): LocalDay {
  return shiftDay(addMonths(monthStart(day), 1), -1);
}

/** The same day of another month, or its last day if the month is shorter. */
export function addMonths(day: LocalDay, count: number): LocalDay {
  const [year, month, date] = day.split('-').map(Number) as [number, number, number];
  const first = Date.UTC(year, month - 1 + count, 1);
  const lastDate = new Date(Date.UTC(year, month + count, 0)).getUTCDate();
  return shiftDay(dayAt(first), Math.min(date, lastDate) - 1);
}

/** The midnight at which a day begins in UTC, for formatters that use UTC. */
export function msOf(day: LocalDay): number {
  return Date.parse(`${day}T00:00:00Z`);
}

function dayAt(ms: number): LocalDay {
  return new Date(ms).toISOString().slice(0, 10);
}
