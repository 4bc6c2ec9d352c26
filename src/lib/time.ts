import { Temporal } from 'temporal-polyfill';

/** An instant: milliseconds since 1970-01-01T00:00Z. */
export type UtcMs = number;
/** A calendar day in some zone, `YYYY-MM-DD`. Sorts as text. */
export type LocalDate = string;

/** Where the time comes from; tests bring their own. */
export interface Clock {
  now(): UtcMs;
}
export const systemClock: Clock = { now: Date.now };

export const SECOND_MS = 1_000;
export const MINUTE_MS = 60_000;
export const HOUR_MS = 3_600_000;
export const DAY_MS = 86_400_000;
/** The field's standard load-profile interval. Every zone's days begin on a multiple of it. */
export const INTERVAL_MS = 15 * MINUTE_MS;

/** One local day as a half-open window of instants; empty where the zone skipped the date. */
export interface DayBounds {
  day: LocalDate;
  startMs: UtcMs;
  endMs: UtcMs;
}

/** Whether the tz database knows the zone (IANA names only, no bare offsets). */
export function isTimeZone(zone: string): boolean {
  if (!/^[A-Za-z]/.test(zone)) return false;
  try {
    new Intl.DateTimeFormat('en', { timeZone: zone });
    return true;
  } catch {
    return false;
  }
}

/** Whether the text is a day that exists in the calendar, `YYYY-MM-DD`. */
export function isLocalDate(text: string): text is LocalDate {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text)) return false;
  const ms = Date.parse(`${text}T00:00:00Z`);
  return !Number.isNaN(ms) && new Date(ms).toISOString().startsWith(text);
}

export function addDays(day: LocalDate, days: number): LocalDate {
  return new Date(Date.parse(`${day}T00:00:00Z`) + days * DAY_MS).toISOString().slice(0, 10);
}

/** How many days `to` is after `from` in the calendar. */
export function daysBetween(from: LocalDate, to: LocalDate): number {
  return (Date.parse(`${to}T00:00:00Z`) - Date.parse(`${from}T00:00:00Z`)) / DAY_MS;
}

/** The local day an instant falls on. */
export function localDateOf(ms: UtcMs, zone: string): LocalDate {
  return Temporal.Instant.fromEpochMilliseconds(ms).toZonedDateTimeISO(zone).toPlainDate().toString();
}

/**
 * The first instant of a local date, from the tz database: the first of two midnights where midnight repeats,
 * the first moment after the change where there is no midnight.
 */
export function dayStart(day: LocalDate, zone: string): UtcMs {
  return Temporal.PlainDate.from(day).toZonedDateTime({ timeZone: zone }).epochMilliseconds;
}

/**
 * The instant at which a clock in the zone shows that time: the first where it is shown twice; where it is skipped, as much later as
 * the clock was moved.
 */
export function localInstant(day: LocalDate, hour: number, minute: number, zone: string): UtcMs {
  return Temporal.PlainDate.from(day).toZonedDateTime({
    timeZone: zone,
    plainTime: { hour, minute },
  }).epochMilliseconds;
}

/** Bounds of every calendar day from `from` to `to`, both included. A day the zone skipped is empty (start = end). */
export function dayBounds(from: LocalDate, to: LocalDate, zone: string): DayBounds[] {
  const bounds: DayBounds[] = [];
  let startMs = dayStart(from, zone);
  for (let day = from; day <= to; ) {
    const next = addDays(day, 1);
    const endMs = dayStart(next, zone);
    bounds.push({ day, startMs, endMs });
    day = next;
    startMs = endMs;
  }
  return bounds;
}

/** The offsets from UTC that a zone has had in those years, each from its first instant on; the first also for all before. */
export function zoneOffsets(
  zone: string,
  fromMs: UtcMs,
  toMs: UtcMs,
): Array<{ fromMs: UtcMs; offsetMs: number }> {
  const offsets: Array<{ fromMs: UtcMs; offsetMs: number }> = [];
  let at: Temporal.ZonedDateTime | null =
    Temporal.Instant.fromEpochMilliseconds(fromMs).toZonedDateTimeISO(zone);
  while (at !== null && at.epochMilliseconds <= toMs) {
    offsets.push({ fromMs: at.epochMilliseconds, offsetMs: at.offsetNanoseconds / 1e6 });
    at = at.getTimeZoneTransition('next');
  }
  return offsets;
}

/** `2026-11-20T13:05:00.000Z`, the one way an instant is written for people and files. */
export function formatInstant(ms: UtcMs): string {
  return new Date(ms).toISOString();
}

/** `2026-10-25 02:30:00+01:00`, as a clock in the zone shows it; the offset tells repeated hours apart. */
export function formatLocal(ms: UtcMs, zone: string): string {
  return Temporal.Instant.fromEpochMilliseconds(ms)
    .toString({ timeZone: zone, smallestUnit: ms % SECOND_MS === 0 ? 'second' : 'millisecond' })
    .replace('T', ' ');
}

/**
 * Reads an instant as strangers write it: ISO 8601 with a zone, or whole milliseconds since 1970.
 * @returns undefined when it is neither; a local time without a zone is refused, because it names no instant
 */
export function parseInstant(text: string): UtcMs | undefined {
  if (/^\d{1,15}$/.test(text)) return Number(text);
  const match =
    /^(\d{4}-\d{2}-\d{2})[Tt ](\d{2}):(\d{2})(?::(\d{2})(?:[.,]\d{1,9})?)?([Zz]|[+-]\d{2}(?::?\d{2})?)$/.exec(
      text,
    );
  if (!match || !isLocalDate(match[1]!)) return undefined;
  const [, , hour, minute, second = '0'] = match;
  if (Number(hour) > 23 || Number(minute) > 59 || Number(second) > 59) return undefined;
  try {
    return Temporal.Instant.from(text.replace(' ', 'T').replace(',', '.')).epochMilliseconds;
  } catch {
    return undefined;
  }
}
