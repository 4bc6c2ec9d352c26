/** Arithmetic of local days, which are texts such as 2026-11-20. It needs no time zone. */
export type Day = string;

const DAY_MS = 86_400_000;

export function isDay(text: string | undefined): text is Day {
  if (text === undefined || !/^\d{4}-\d\d-\d\d$/.test(text)) return false;
  const ms = Date.parse(`${text}T00:00:00Z`);
  return !Number.isNaN(ms) && dayAt(ms) === text;
}

export function addDays(day: Day, count: number): Day {
  return dayAt(msOf(day) + count * DAY_MS);
}

/** The number of days from the first to the last, both included. */
export function countDays(first: Day, last: Day): number {
  return Math.round((msOf(last) - msOf(first)) / DAY_MS) + 1;
}

/** All days from the first to the last, both included. */
export function listDays(first: Day, last: Day): Day[] {
  return Array.from({ length: Math.max(0, countDays(first, last)) }, (_, index) => addDays(first, index));
}

/** The current day in a time zone. */
export function today(zone: string, nowMs = Date.now()): Day {
  // Swedish dates are ISO 8601.
  return new Intl.DateTimeFormat('sv', { timeZone: zone, dateStyle: 'short' }).format(nowMs);
}

/** Weeks begin on Monday. */
export function weekStart(day: Day): Day {
  return addDays(day, -((new Date(msOf(day)).getUTCDay() + 6) % 7));
}

export function monthStart(day: Day): Day {
  return `${day.slice(0, 7)}-01`;
}

export function monthEnd(day: Day): Day {
  return addDays(addMonths(monthStart(day), 1), -1);
}

/** The same day of another month, or its last day if the month is shorter. */
export function addMonths(day: Day, count: number): Day {
  const [year, month, date] = day.split('-').map(Number) as [number, number, number];
  const first = Date.UTC(year, month - 1 + count, 1);
  const lastDate = new Date(Date.UTC(year, month + count, 0)).getUTCDate();
  return addDays(dayAt(first), Math.min(date, lastDate) - 1);
}

/** Its midnight in UTC, for formatters that use UTC. */
export function msOf(day: Day): number {
  return Date.parse(`${day}T00:00:00Z`);
}

function dayAt(ms: number): Day {
  return new Date(ms).toISOString().slice(0, 10);
}
