import { clipText } from '../lib/clip-text.ts';
import { isLocalDate, type LocalDate, MINUTE_MS, parseInstant, type UtcMs } from '../lib/time.ts';
import { guessTimeFormat, parseTime } from './guess-time-format.ts';
import { createLocalClock, END_MS, FIRST_MS, findOrderedRepeats, type LocalClock } from './local-clock.ts';

type ReadInstant = { kind: 'instant'; ms: UtcMs } | { kind: 'problem'; message: string };

/** Reads one time of a column. */
type InstantReader = (time: TimeCell) => ReadInstant;

/** A cell of a column of times. */
interface TimeCell {
  text: string;
  /** The subject of the time, such as a meter. Its times are in their order. */
  series: string;
}

interface ZoneChoice {
  /** The zone of times without an offset. Without a zone they are a problem. */
  zone: string | undefined;
  /** What a person does to set the zone, such as `set zone`. */
  toSetZone: string;
}

/** Cells from which the format is guessed. */
const SAMPLE_CELLS = 20_000;

/**
 * Creates a reader of the times of a column. It reads ISO 8601 with seconds and an offset if they are there,
 * `17.05.2026 13:15`, and the formats of `guessTimeFormat` if day and month cannot be exchanged.
 *
 * A local time that clocks never showed is a problem. A local time that clocks showed twice is one too,
 * unless the order of its series shows which of the two hours it is.
 * @param cells all cells of the column, in their order
 */
export function createInstantReader(
  { zone, toSetZone }: ZoneChoice,
  cells: readonly TimeCell[],
): InstantReader {
  const clock = zone === undefined ? undefined : createLocalClock(zone);
  const format = formatOf(cells);
  const ordered = clock === undefined ? undefined : orderedSeries(cells, clock, format);

  return ({ text, series }) => {
    const time = readTime(text, format);
    if (time.kind === 'problem') return time;
    if (time.kind === 'instant') return within(time.ms, text);
    if (!clock)
      return problem(`"${clipText(text)}" names no zone; write the offset behind it, or ${toSetZone}`);
    const instants = clock.instantsOf(time.ms);
    const [first, second] = instants;
    if (first === undefined)
      return problem(
        `clocks in ${zone} never showed "${clipText(text)}", because they were put forward; write the time with its offset`,
      );
    if (second === undefined) return within(first, text);
    if (ordered!.get(series)?.has(clock.putBackAt(time.ms)!))
      return within(clock.toUtc(time.ms, series)!, text);
    const offsets = instants.map((ms) => shownOffset(time.ms - ms)).join(' or ');
    return problem(
      `clocks in ${zone} showed "${clipText(text)}" twice, because they were put back; write which one it is: ${offsets}`,
    );
  };
}

type Time = { kind: 'local' | 'instant'; ms: number } | { kind: 'problem'; message: string };

function readTime(text: string, format: string | undefined): Time {
  const iso = isoOf(text);
  if (iso === undefined) {
    const time = format === undefined ? undefined : parseTime(text, format);
    return (
      time ??
      problem(`"${clipText(text)}" is not a time${hintOf(text, format)}; write it as 2026-05-17T13:15+02:00`)
    );
  }
  const zoned = /[Zz]$|[+-]\d{2}(:?\d{2})?$/.test(iso.slice(10)) ? parseInstant(iso) : undefined;
  if (zoned !== undefined) return { kind: 'instant', ms: zoned };
  const ms = Date.parse(`${iso.slice(0, 10)}T${iso.slice(11).padEnd(5, '00:00')}Z`);
  return Number.isNaN(ms)
    ? problem(`"${clipText(text)}" is not a time; write it as 2026-05-17T13:15+02:00`)
    : { kind: 'local', ms };
}

function hintOf(text: string, format: string | undefined): string {
  return text.includes('/') && format === undefined
    ? ': it is not clear if the day or the month comes first'
    : '';
}

/** The format of a column that is neither ISO 8601 nor a date with dots. Undefined if two formats fit. */
function formatOf(cells: readonly TimeCell[]): string | undefined {
  const texts = cells
    .slice(0, SAMPLE_CELLS)
    .flatMap(({ text }) => (text === '' || isoOf(text) ? [] : [text]));
  const guess = texts.length === 0 ? undefined : guessTimeFormat(texts);
  return guess === undefined || guess.rival !== undefined ? undefined : guess.format;
}

function orderedSeries(
  cells: readonly TimeCell[],
  clock: LocalClock,
  format: string | undefined,
): Map<string, Set<number>> {
  const timesOf = new Map<string, number[]>();
  for (const { text, series } of cells) {
    const time = readTime(text, format);
    if (time.kind !== 'local') continue;
    const times = timesOf.get(series);
    if (times) times.push(time.ms);
    else timesOf.set(series, [time.ms]);
  }
  return new Map([...timesOf].map(([series, times]) => [series, findOrderedRepeats(times, clock)]));
}

/** Rewrites `17.05.2026 13:15` and `2026-05-17 13:15 UTC` as ISO 8601. Undefined if the text is neither. */
function isoOf(text: string): string | undefined {
  const dotted = /^(\d{1,2})\.(\d{1,2})\.(\d{4})(.*)$/.exec(text);
  const iso = dotted
    ? `${dotted[3]}-${dotted[2]!.padStart(2, '0')}-${dotted[1]!.padStart(2, '0')}${dotted[4]}`
    : text.replace(/ ?UTC$/, 'Z');
  const match =
    /^(\d{4}-\d{2}-\d{2})(?:[Tt ](\d{2}):(\d{2})(?::(\d{2})(?:[.,]\d{1,9})?)? ?([Zz]|[+-]\d{2}(?::?\d{2})?)?)?$/.exec(
      iso,
    );
  if (!match || !isLocalDate(match[1]!)) return undefined;
  const [, , hour = '0', minute = '0', second = '0'] = match;
  if (Number(hour) > 23 || Number(minute) > 59 || Number(second) > 59) return undefined;
  return iso.replace(/ (?=[Zz+-])/, '').replace(',', '.');
}

function within(ms: UtcMs, text: string): ReadInstant {
  return ms >= FIRST_MS && ms < END_MS
    ? { kind: 'instant', ms }
    : problem(`"${clipText(text)}" is not within 1970 to 2099`);
}

function problem(message: string): { kind: 'problem'; message: string } {
  return { kind: 'problem', message };
}

function shownOffset(offsetMs: number): string {
  const minutes = Math.abs(offsetMs) / MINUTE_MS;
  const two = (value: number) => String(Math.floor(value)).padStart(2, '0');
  return `${offsetMs < 0 ? '-' : '+'}${two(minutes / 60)}:${two(minutes % 60)}`;
}

/** True for a day of the years that are read. */
export function isKnownDate(text: string): text is LocalDate {
  return isLocalDate(text) && text >= '1970-01-01' && text < '2100-01-01';
}
