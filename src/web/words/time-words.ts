import { type LocalDay, msOf } from './local-days.ts';
import { plural } from './number-words.ts';
import { lengthOf, type ShownPeriod } from './periods.ts';

/** Days and instants as people read them, in the locale of the browser. */

const formats = new Map<string, Intl.DateTimeFormat>();

/** Returns a kept format, because making a format takes as long as using it a hundred times. */
function format(options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
  const key = JSON.stringify(options);
  const made = formats.get(key) ?? new Intl.DateTimeFormat(undefined, options);
  formats.set(key, made);
  return made;
}

/** Such as "Fri, 20 Nov 2026". */
export function longDay(day: LocalDay): string {
  return format({
    weekday: 'short',
    day: 'numeric',
    month: 'short',
    year: 'numeric',
    timeZone: 'UTC',
  }).format(msOf(day));
}

/** Such as "Fri, 20 Nov". */
export function shortDay(day: LocalDay): string {
  return format({ weekday: 'short', day: 'numeric', month: 'short', timeZone: 'UTC' }).format(msOf(day));
}

/** Such as "20 Nov". */
export function dayAndMonth(day: LocalDay): string {
  return format({ day: 'numeric', month: 'short', timeZone: 'UTC' }).format(msOf(day));
}

/** The day of the month alone. */
function dateNumber(day: LocalDay): string {
  return String(Number(day.slice(8)));
}

/**
 * The label of a day on an axis: its number, and the month of the first day of a picture and of each month.
 */
export function dayTick(day: LocalDay, first: LocalDay): string {
  return day === first || day.endsWith('-01') ? dayAndMonth(day) : dateNumber(day);
}

/** A column of a picture in full: a day, "November 2026" or "2026". */
export function columnName(column: string): string {
  if (column.length === 10) return longDay(column);
  if (column.length === 4) return column;
  return format({ month: 'long', year: 'numeric', timeZone: 'UTC' }).format(msOf(`${column}-01`));
}

/**
 * The label of a column on an axis: a day, a month or a year.
 * @param first the first day of the picture
 */
export function columnTick(column: string, first: LocalDay): string {
  if (column.length === 10) return dayTick(column, first);
  return column.length === 4 ? column : monthTick(column, first.slice(0, 7));
}

/** The label of a month on an axis: the first one, and each January, have the year. */
function monthTick(month: string, first: string): string {
  const hasYear = month === first || month.endsWith('-01');
  return hasYear
    ? format({ month: 'short', year: 'numeric', timeZone: 'UTC' }).format(msOf(`${month}-01`))
    : shortMonth(month);
}

function shortMonth(month: string): string {
  return format({ month: 'short', timeZone: 'UTC' }).format(msOf(`${month}-01`));
}

/** Such as "November 2026", or "3 Nov – 9 Nov 2026". */
export function periodName(period: ShownPeriod): string {
  const length = lengthOf(period);
  if (length === 'month') return columnName(period.from.slice(0, 7));
  if (length === 'year') return period.from.slice(0, 4);
  if (period.from === period.to) return longDay(period.from);
  return format({ day: 'numeric', month: 'short', year: 'numeric', timeZone: 'UTC' }).formatRange(
    msOf(period.from),
    msOf(period.to),
  );
}

/** Such as "in November 2026", and "on Fri, 20 Nov 2026" for a period of one day. */
export function inPeriod(period: ShownPeriod): string {
  return `${period.from === period.to ? 'on' : 'in'} ${periodName(period)}`;
}

const clock = { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' } as const;

/** Such as 09:41, in the zone of the workgroup. */
export function clockTime(instant: string | number, zone: string): string {
  return format({ ...clock, timeZone: zone }).format(new Date(instant));
}

/** The same for several instants. A time that clocks show twice has its offset, such as "02:15 (+01:00)". */
export function clockTimes(instants: readonly number[], zone: string): string[] {
  const times = instants.map((instant) => clockTime(instant, zone));
  const shownTwice = new Set(times.filter((time, index) => times.indexOf(time) < index));
  return times.map((time, index) =>
    shownTwice.has(time) ? `${time} (${offsetOf(instants[index]!, zone)})` : time,
  );
}

/** Such as "+01:00". */
function offsetOf(instant: number, zone: string): string {
  const parts = new Intl.DateTimeFormat('en', { timeZone: zone, timeZoneName: 'longOffset' }).formatToParts(
    instant,
  );
  const name = parts.find(({ type }) => type === 'timeZoneName')!.value;
  // The offset 0 is "GMT" in some browsers, and "GMT+00:00" in others.
  return name.slice('GMT'.length) || '+00:00';
}

/** Such as 09:41:07, in the zone of the workgroup. */
export function clockTimeToSecond(instant: string | number, zone: string): string {
  return format({ ...clock, second: '2-digit', timeZone: zone }).format(new Date(instant));
}

/** Such as "20 Nov 2026, 09:41". */
export function dayAndTime(instant: string | number, zone: string): string {
  return format({
    day: 'numeric',
    month: 'short',
    year: 'numeric',
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
    timeZone: zone,
  }).format(new Date(instant));
}

const steps = [
  { unit: 'day', seconds: 86_400 },
  { unit: 'hour', seconds: 3_600 },
  { unit: 'minute', seconds: 60 },
] as const;

/** Such as "3 hours"; undefined below a minute. */
export function timeSince(instant: string | number, nowMs = Date.now()): string | undefined {
  const seconds = (nowMs - new Date(instant).getTime()) / 1_000;
  const step = steps.find((one) => seconds >= one.seconds);
  return step && plural(Math.floor(seconds / step.seconds), step.unit);
}

/**
 * Such as "3 hours ago"; "just now" below a minute. It is a part of English sentences, so its words do not
 * follow the locale.
 */
export function timeAgo(instant: string | number, nowMs = Date.now()): string {
  const span = timeSince(instant, nowMs);
  return span === undefined ? 'just now' : `${span} ago`;
}

/** Such as "2 h 5 min", "12 s" and "250 ms". */
export function durationWords(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)}\u00a0ms`;
  const seconds = Math.round(ms / 1_000);
  if (seconds < 60) return `${seconds}\u00a0s`;
  const parts: Array<[size: number, unit: string]> = [
    [86_400, 'd'],
    [3_600, 'h'],
    [60, 'min'],
  ];
  const first = parts.findIndex(([size]) => seconds >= size);
  const [size, unit] = parts[first]!;
  const next = parts[first + 1];
  const rest = next ? Math.floor((seconds % size) / next[0]) : 0;
  return `${Math.floor(seconds / size)}\u00a0${unit}${rest > 0 ? ` ${rest}\u00a0${next![1]}` : ''}`;
}
