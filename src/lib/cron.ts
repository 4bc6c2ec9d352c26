import { addDays, daysBetween, type LocalDate, localDateOf, localInstant, type UtcMs } from './time.ts';

/**
 * This is not a library, because each one that was tried loses or repeats runs when clocks change. The clocks
 * of Cairo, Beirut and Santiago skip midnight on one day a year. `cron-parser`, which BullMQ contains, loses
 * the run of that midnight, and reads `mon` as January in the field of months. `croner` 11 loses all runs of
 * a pattern such as `0,15 0 * * *` on that day, and repeats runs in an hour that clocks repeat.
 */

/** A pattern of five fields: minute, hour, day of month, month, day of week. */
export interface CronPattern {
  minutes: readonly number[];
  hours: readonly number[];
  isDay(day: LocalDate): boolean;
  /** The same pattern with lists of numbers only. All programs that read cron patterns agree on these. */
  plain: string;
}

const months = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];
const weekdays = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'];
const fields = [
  { name: 'minute', min: 0, max: 59, names: [] },
  { name: 'hour', min: 0, max: 23, names: [] },
  { name: 'day of month', min: 1, max: 31, names: [] },
  { name: 'month', min: 1, max: 12, names: months },
  // 7 is also Sunday.
  { name: 'day of week', min: 0, max: 7, names: weekdays },
] as const;
type Field = (typeof fields)[number];

const DAYS_OF_MONTH_MAX = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
/** The 29th of February can be eight years away. */
const SEARCH_DAYS_MAX = 8 * 366;

/**
 * Reads a pattern such as `0 6 * * mon-fri`, with lists, ranges, steps and names. If the day of the month and
 * the day of the week are both restricted, one of the two is enough.
 * @returns a text with the problem if the pattern is invalid
 */
export function parseCron(text: string): CronPattern | string {
  const parts = text.trim().toLowerCase().split(/\s+/);
  if (parts.length !== fields.length)
    return 'must have five fields: minute, hour, day of month, month, day of week, such as "0 6 * * *"';
  const sets: number[][] = [];
  for (const [index, field] of fields.entries()) {
    const values = parseField(parts[index]!, field);
    if (!values) {
      return `"${parts[index]}" is not valid as ${field.name}: use *, numbers from ${field.min} to ${field.max}, lists, ranges and steps, such as 1,15 or 8-18/2`;
    }
    sets.push(values);
  }
  const [minutes, hours, daysOfMonth, monthsOfYear, daysOfWeek] = sets as [
    number[],
    number[],
    number[],
    number[],
    number[],
  ];
  // BullMQ refuses such a pattern, even if a day of the week makes it valid.
  if (!monthsOfYear.some((month) => daysOfMonth[0]! <= DAYS_OF_MONTH_MAX[month - 1]!))
    return `never comes on day ${parts[2]} of month ${parts[3]}: no year has this day`;
  const anyDate = parts[2] === '*';
  const anyWeekday = parts[4] === '*';
  return {
    minutes,
    hours,
    plain: sets.map((values, index) => (parts[index] === '*' ? '*' : values.join(','))).join(' '),
    isDay(day) {
      if (!monthsOfYear.includes(Number(day.slice(5, 7)))) return false;
      const isDate = daysOfMonth.includes(Number(day.slice(8)));
      const weekday = new Date(`${day}T00:00:00Z`).getUTCDay();
      const isWeekday = daysOfWeek.includes(weekday);
      return anyDate || anyWeekday ? isDate && isWeekday : isDate || isWeekday;
    },
  };
}

/**
 * The instants of a pattern after `afterMs` and up to `untilMs`, in order. If there are more than `max`, only
 * the newest are returned. A local time that the clocks skip is moved later by the length of the skip. A
 * repeated local time counts once.
 */
export function cronInstants(
  pattern: CronPattern,
  zone: string,
  { afterMs, untilMs, max }: { afterMs: UtcMs; untilMs: UtcMs; max: number },
): UtcMs[] {
  const instants: UtcMs[] = [];
  const firstDay = localDateOf(afterMs, zone);
  for (
    let day = localDateOf(untilMs, zone);
    day >= firstDay && instants.length < max;
    day = addDays(day, -1)
  ) {
    const dayInstants = instantsOf(pattern, day, zone).filter((ms) => ms > afterMs && ms <= untilMs);
    instants.push(...dayInstants.reverse());
  }
  return instants.slice(0, max).reverse();
}

/** The next instant of a pattern. Undefined if there is none within eight years. */
export function nextCronInstant(pattern: CronPattern, zone: string, afterMs: UtcMs): UtcMs | undefined {
  const today = localDateOf(afterMs, zone);
  for (let day = today; daysBetween(today, day) < SEARCH_DAYS_MAX; day = addDays(day, 1)) {
    const next = instantsOf(pattern, day, zone).find((ms) => ms > afterMs);
    if (next !== undefined) return next;
  }
  return undefined;
}

function instantsOf({ minutes, hours, isDay }: CronPattern, day: LocalDate, zone: string): UtcMs[] {
  if (!isDay(day)) return [];
  const instants = hours.flatMap((hour) => minutes.map((minute) => localInstant(day, hour, minute, zone)));
  // Times in a skipped hour are moved to the next hour, where they can be equal to others.
  return [...new Set(instants)].sort((a, b) => a - b);
}

function parseField(text: string, { min, max, names }: Field): number[] | undefined {
  const values = new Set<number>();
  for (const item of text.split(',')) {
    const match = /^(\*|[a-z0-9]+)(?:-([a-z0-9]+))?(?:\/(\d{1,2}))?$/.exec(item);
    if (!match) return undefined;
    const [, start = '', end, step] = match;
    const from = start === '*' ? min : numberOf(start, min, names);
    const to = end !== undefined ? numberOf(end, min, names) : start === '*' || step ? max : from;
    const by = step === undefined ? 1 : Number(step);
    if (from === undefined || to === undefined || (start === '*' && end !== undefined) || by < 1)
      return undefined;
    if (from < min || to > max || from > to) return undefined;
    for (let value = from; value <= to; value += by) values.add(max === 7 ? value % 7 : value);
  }
  return [...values].sort((a, b) => a - b);
}

function numberOf(text: string, min: number, names: readonly string[]): number | undefined {
  if (/^\d{1,2}$/.test(text)) return Number(text);
  const index = names.indexOf(text);
  return index < 0 ? undefined : index + min;
}
