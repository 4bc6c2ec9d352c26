import {
  DAY_MS,
  dayBounds,
  formatInstant,
  formatLocal,
  HOUR_MS,
  type LocalDate,
  MINUTE_MS,
  SECOND_MS,
  type UtcMs,
} from '../lib/time.ts';

/** A number for a sentence: with thousands separators, and only the needed decimals. */
export function plainNumber(value: number): string {
  return value.toLocaleString('en', { maximumFractionDigits: 6 });
}

/** `1 d 2 h`, the two largest parts of a duration. */
export function plainDuration(milliseconds: number): string {
  const units: Array<[ms: number, name: string]> = [
    [24 * HOUR_MS, 'd'],
    [HOUR_MS, 'h'],
    [MINUTE_MS, 'min'],
    [SECOND_MS, 's'],
    [1, 'ms'],
  ];
  const first = units.findIndex(([ms]) => milliseconds >= ms);
  if (first < 0) return `${plainNumber(milliseconds)} ms`;
  let rest = milliseconds;
  return units
    .slice(first, first + 2)
    .map(([ms, name]) => {
      const count = Math.floor(rest / ms);
      rest -= count * ms;
      return count > 0 ? `${count} ${name}` : '';
    })
    .filter(Boolean)
    .join(' ');
}

/** A duration for arithmetic: `893 s`. */
export function secondsText(milliseconds: number): string {
  return `${plainNumber(milliseconds / SECOND_MS)} s`;
}

/** `a, b and c` */
export function listOf(names: readonly string[]): string {
  return [names.slice(0, -1).join(', '), names.at(-1) ?? ''].filter(Boolean).join(' and ');
}

/** The nearest days with energy, if the requested day has none; empty if there are none. */
export function nearestText({ before, after }: { before: string | null; after: string | null }): string {
  if (before && after) return `the last day with energy before it is ${before}, the next one ${after}`;
  if (before) return `the last day with energy before it is ${before}`;
  return after ? `the next day with energy is ${after}` : '';
}

export const instant = formatInstant;
/**
 * Writes instants of a day for sentences, in local time. The date is added if it is another day. The offset
 * from UTC is added if the clock changes on the day, so that repeated hours differ.
 */
export type TimeOfDayFormat = (ms: UtcMs) => string;
export function timeOfDayFormat(day: LocalDate, zone: string): TimeOfDayFormat {
  const { startMs, endMs } = dayBounds(day, day, zone)[0]!;
  const isChanged = endMs - startMs !== DAY_MS;
  return (ms) => {
    const local = formatLocal(ms, zone);
    const text = local.startsWith(day) ? local.slice(11) : local;
    return isChanged ? text : text.replace(/(?:Z|[+-]\d{2}:\d{2})$/, '');
  };
}
