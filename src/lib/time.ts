import { Temporal } from 'temporal-polyfill';

/** An instant: milliseconds since 1970-01-01T00:00Z. */
export type UtcMs = number;
/** A calendar day of a zone, `YYYY-MM-DD`. The order of the texts is the order of the days. */
export type LocalDate = string;

/** The source of the current time. Tests use a clock that they set. */
export interface Clock {
  now(): UtcMs;
  /** Milliseconds since some instant. Setting the system's clock does not change it. Default: `now`. */
  elapsed?(): number;
}
export const systemClock: Clock = { now: Date.now, elapsed: () => performance.now() };

/** The time that has passed on a clock, for delays and ages. */
export function elapsedOf(clock: Clock): number {
  return clock.elapsed?.() ?? clock.now();
}

/**
 * A clock for delays and ages, which does not jump when the clock of the machine is set. After that it is not
 * the time of day any more.
 */
export interface SteadyClock extends Pick<Clock, 'now'> {
  /** Lets the type check refuse the clock of the machine. */
  readonly isSteady: true;
}

/** A steady clock that begins at the current time of `clock`. */
export function steadyClockOf(clock: Clock): SteadyClock {
  const offsetMs = clock.now() - elapsedOf(clock);
  return { isSteady: true, now: () => offsetMs + elapsedOf(clock) };
}

export const SECOND_MS = 1_000;
export const MINUTE_MS = 60_000;
export const HOUR_MS = 3_600_000;
export const DAY_MS = 86_400_000;
/** The standard interval of load profiles. Days of every zone begin at a multiple of it. */
export const INTERVAL_MS = 15 * MINUTE_MS;

/** One local day as a half-open window of instants. Empty if the zone skipped the day. */
export interface DayBounds {
  day: LocalDate;
  startMs: UtcMs;
  endMs: UtcMs;
}

/** True if the tz database has the zone. Only IANA names, no offsets. */
export function isTimeZone(zone: string): boolean {
  if (!/^[A-Za-z]/.test(zone)) return false;
  try {
    new Intl.DateTimeFormat('en', { timeZone: zone });
    return true;
  } catch {
    return false;
  }
}

/**
 * True if the text is an existing day, `YYYY-MM-DD`, from 0000-01-02 to 9999-12-30. The first and the last
 * possible date are not accepted, because the code also needs the day before and the day after.
 */
export function isLocalDate(text: string): text is LocalDate {
  return isDate(text) && text > '0000-01-01' && text < '9999-12-31';
}

function isDate(text: string): boolean {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text)) return false;
  const ms = Date.parse(`${text}T00:00:00Z`);
  return !Number.isNaN(ms) && new Date(ms).toISOString().startsWith(text);
}

export function addDays(day: LocalDate, days: number): LocalDate {
  return new Date(Date.parse(`${day}T00:00:00Z`) + days * DAY_MS).toISOString().slice(0, 10);
}

export function firstDayOfMonth(day: LocalDate): LocalDate {
  return `${day.slice(0, 7)}-01`;
}

export function lastDayOfMonth(day: LocalDate): LocalDate {
  // In a shorter month, the 31st becomes its last day.
  return Temporal.PlainDate.from(day).with({ day: 31 }).toString();
}

/** All calendar days from `from` to `to`, both included. */
export function daysFrom(from: LocalDate, to: LocalDate): LocalDate[] {
  const days: LocalDate[] = [];
  for (let day = from; day <= to; day = addDays(day, 1)) days.push(day);
  return days;
}

/** The number of calendar days from `from` to `to`. */
export function daysBetween(from: LocalDate, to: LocalDate): number {
  return (Date.parse(`${to}T00:00:00Z`) - Date.parse(`${from}T00:00:00Z`)) / DAY_MS;
}

/** The local day of an instant. */
export function localDateOf(ms: UtcMs, zone: string): LocalDate {
  return Temporal.Instant.fromEpochMilliseconds(ms).toZonedDateTimeISO(zone).toPlainDate().toString();
}

/**
 * The first instant of a local day, from the tz database. If midnight occurs twice, this is the first one. If
 * the clocks skip midnight, this is the first instant after the change.
 */
export function dayStart(day: LocalDate, zone: string): UtcMs {
  return Temporal.PlainDate.from(day).toZonedDateTime({ timeZone: zone }).epochMilliseconds;
}

/**
 * The instant of a local time. If the time occurs twice, this is the first one. If the clocks skip it, it is
 * moved later by the length of the skip.
 */
export function localInstant(day: LocalDate, hour: number, minute: number, zone: string): UtcMs {
  return Temporal.PlainDate.from(day).toZonedDateTime({
    timeZone: zone,
    plainTime: { hour, minute },
  }).epochMilliseconds;
}

/**
 * The bounds of all calendar days from `from` to `to`, both included. A skipped day is empty (start = end).
 */
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

/**
 * The offsets of a zone from UTC between `fromMs` and `toMs`, each with the instant from which it applies.
 * The first offset also applies to all earlier times.
 */
export function zoneOffsets(
  zone: string,
  fromMs: UtcMs,
  toMs: UtcMs,
): Array<{ fromMs: UtcMs; offsetMs: number }> {
  const offsets: Array<{ fromMs: UtcMs; offsetMs: number }> = [];
  let moment: Temporal.ZonedDateTime | null =
    Temporal.Instant.fromEpochMilliseconds(fromMs).toZonedDateTimeISO(zone);
  while (moment !== null && moment.epochMilliseconds <= toMs) {
    offsets.push({ fromMs: moment.epochMilliseconds, offsetMs: moment.offsetNanoseconds / 1e6 });
    moment = moment.getTimeZoneTransition('next');
  }
  return offsets;
}

/** `2026-11-20T13:05:00.000Z`, the format of instants for people and files. */
export function formatInstant(ms: UtcMs): string {
  return new Date(ms).toISOString();
}

/** The same. Null if there is no instant. */
export function formatInstantOrNull(ms: UtcMs | null | undefined): string | null {
  return ms === null || ms === undefined ? null : formatInstant(ms);
}

/** `2026-11-22 18:00:00Z`: an instant for people. */
export function formatMoment(ms: UtcMs): string {
  return new Date(ms)
    .toISOString()
    .replace('T', ' ')
    .replace(/\.\d{3}Z$/, 'Z');
}

/** `2026-11-22 18:00`: an instant for people, in UTC. */
export function formatMinute(ms: UtcMs): string {
  return formatInstant(ms).slice(0, 16).replace('T', ' ');
}

/** `2026-10-25 02:30:00+01:00`: local time with its offset, which distinguishes repeated hours. */
export function formatLocal(ms: UtcMs, zone: string): string {
  return Temporal.Instant.fromEpochMilliseconds(ms)
    .toString({ timeZone: zone, smallestUnit: ms % SECOND_MS === 0 ? 'second' : 'millisecond' })
    .replace('T', ' ');
}

/**
 * Reads an instant: ISO 8601 with a zone, or whole milliseconds since 1970.
 * @returns undefined for other text, and for instants that are not in the years 0000 to 9999 of UTC. A local
 *   time without a zone is not an instant
 */
export function parseInstant(text: string): UtcMs | undefined {
  const ms = /^\d{1,15}$/.test(text) ? Number(text) : parseZoned(text);
  return ms !== undefined && ms >= YEAR_0_MS && ms < YEAR_10000_MS ? ms : undefined;
}

const YEAR_0_MS = Date.parse('0000-01-01T00:00:00Z');
const YEAR_10000_MS = Date.UTC(10_000, 0);

function parseZoned(text: string): UtcMs | undefined {
  const match =
    /^(\d{4}-\d{2}-\d{2})[Tt ](\d{2}):(\d{2})(?::(\d{2})(?:[.,]\d{1,9})?)?([Zz]|[+-]\d{2}(?::?\d{2})?)$/.exec(
      text,
    );
  if (!match || !isDate(match[1]!)) return undefined;
  const [, , hour, minute, second = '0'] = match;
  if (Number(hour) > 23 || Number(minute) > 59 || Number(second) > 59) return undefined;
  try {
    return Temporal.Instant.from(text.replace(' ', 'T').replace(',', '.')).epochMilliseconds;
  } catch {
    return undefined;
  }
}
