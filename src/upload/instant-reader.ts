import { isLocalDate, type LocalDate, parseInstant, type UtcMs, zoneOffsets } from '../lib/time.ts';

export type ReadInstant = { kind: 'instant'; ms: UtcMs } | { kind: 'problem'; message: string };

/** Reads the times of a file. */
export type InstantReader = (text: string) => ReadInstant;

const FROM_MS = 0;
const TO_MS = Date.UTC(2100, 0);
/** No zone is further from UTC. */
const OFFSET_MS_MAX = 26 * 3_600_000;

/**
 * Reads times as `2026-05-17 13:15`, with seconds, a `T` or an offset where there are any, and as `17.05.2026 13:15`.
 * @param zone of the times that name no offset; without one they are refused. So are those that its clocks never showed, or
 *   showed twice: which is meant, nobody can tell
 */
export function createInstantReader(zone: string | undefined): InstantReader {
  const offsets = zone === undefined ? undefined : zoneOffsets(zone, FROM_MS - OFFSET_MS_MAX, TO_MS);

  function offsetAt(ms: UtcMs): number {
    let low = 0;
    let high = offsets!.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >>> 1;
      if (offsets![middle]!.fromMs <= ms) low = middle;
      else high = middle - 1;
    }
    return offsets![low]!.offsetMs;
  }

  return (text) => {
    const iso = isoOf(text);
    if (iso === undefined) {
      const hint = text.includes('/') ? ': whether day or month comes first, nobody can tell' : '';
      return problem(`"${clip(text)}" is no time${hint}; write it as 2026-05-17T13:15+02:00`);
    }
    const zoned = /[Zz]$|[+-]\d{2}(:?\d{2})?$/.test(iso.slice(10)) ? parseInstant(iso) : undefined;
    if (zoned !== undefined) return within(zoned, text);
    const localMs = Date.parse(`${iso.slice(0, 10)}T${iso.slice(11).padEnd(5, '00:00')}Z`);
    if (Number.isNaN(localMs))
      return problem(`"${clip(text)}" is no time; write it as 2026-05-17T13:15+02:00`);
    if (!offsets)
      return problem(
        `"${clip(text)}" names no zone; write the offset behind it, or say the zone with --timezone`,
      );
    const candidates = [...new Set([offsetAt(localMs - OFFSET_MS_MAX), offsetAt(localMs + OFFSET_MS_MAX)])]
      .map((offsetMs) => ({ offsetMs, ms: localMs - offsetMs }))
      .filter(({ offsetMs, ms }) => offsetAt(ms) === offsetMs);
    const [first, second] = candidates;
    if (!first)
      return problem(
        `clocks in ${zone} never showed "${clip(text)}": they were put forward; write the time with its offset`,
      );
    if (second) {
      const ways = candidates.map(({ offsetMs }) => shownOffset(offsetMs)).join(' or ');
      return problem(
        `clocks in ${zone} showed "${clip(text)}" twice, as they were put back; write which it is: ${ways}`,
      );
    }
    return within(first.ms, text);
  };
}

/** A time as ISO 8601, from there or from a date with dots. */
function isoOf(text: string): string | undefined {
  const dotted = /^(\d{1,2})\.(\d{1,2})\.(\d{4})(.*)$/.exec(text);
  const iso = dotted
    ? `${dotted[3]}-${dotted[2]!.padStart(2, '0')}-${dotted[1]!.padStart(2, '0')}${dotted[4]}`
    : text.replace(/^(\d{10}) ?UTC$/, '$1Z');
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
  return ms >= FROM_MS && ms < TO_MS
    ? { kind: 'instant', ms }
    : problem(`"${clip(text)}" is not within 1970 to 2099`);
}

function problem(message: string): ReadInstant {
  return { kind: 'problem', message };
}

function shownOffset(offsetMs: number): string {
  const minutes = Math.abs(offsetMs) / 60_000;
  const two = (value: number) => String(Math.floor(value)).padStart(2, '0');
  return `${offsetMs < 0 ? '-' : '+'}${two(minutes / 60)}:${two(minutes % 60)}`;
}

/** What a file says, as an error shows it: short, and without what would steer a terminal. */
export function clip(text: string): string {
  const short = text.length <= 60 ? text : `${text.slice(0, 59)}…`;
  return short.replace(/\p{Cc}/gu, '\ufffd');
}

/** Whether the day lies in the years that are read. */
export function isKnownDate(text: string): text is LocalDate {
  return isLocalDate(text) && text >= '1970-01-01' && text < '2100-01-01';
}
