import { type UtcMs, zoneOffsets } from '../lib/time.ts';

/** Makes instants of times on the clocks of a zone. */
export interface LocalClock {
  /**
   * @param localMs the time that the clock shows, as if it were UTC
   * @param series whose time it is. Where clocks went back an hour is shown twice: a series is in the second one once it shows a time
   *   that is not later than the one before, so its times must come in their order
   * @returns undefined for a time that no clock of the zone has shown
   */
  toUtc(localMs: number, series: string): UtcMs | undefined;
}

const FROM_MS = 0;
const TO_MS = Date.UTC(2100, 0);

/** @param zone of the IANA database, or an offset such as `+01:00` */
export function createLocalClock(zone: string): LocalClock {
  const spans = spansOf(zone);
  const repeated = new Map<string, { until: UtcMs; lastLocalMs: number; isSecond: boolean }>();
  let current = 0;

  /** The last span that could show the time: the local starts rise with the instants, but for the hour that is shown twice. */
  function seek(localMs: number): void {
    if (isWithin(current, localMs)) return;
    let low = 0;
    let high = spans.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >>> 1;
      const { fromMs, offsetMs } = spans[middle]!;
      if (fromMs + offsetMs <= localMs) low = middle;
      else high = middle - 1;
    }
    current = low;
  }

  function isWithin(index: number, localMs: number): boolean {
    const span = spans[index];
    if (!span) return false;
    const utcMs = localMs - span.offsetMs;
    return (index === 0 || utcMs >= span.fromMs) && utcMs < span.toMs;
  }

  function isSecondTime(series: string, localMs: number, until: UtcMs): boolean {
    const before = repeated.get(series);
    const isSecond = before?.until === until && (before.isSecond || localMs <= before.lastLocalMs);
    repeated.set(series, { until, lastLocalMs: localMs, isSecond });
    return isSecond;
  }

  return {
    toUtc(localMs, series) {
      seek(localMs);
      const later = isWithin(current, localMs) ? current : undefined;
      const before = isWithin(current - 1, localMs) ? current - 1 : undefined;
      const after = isWithin(current + 1, localMs) ? current + 1 : undefined;
      const shown = [before, later, after].filter((index) => index !== undefined);
      const [first, second] = shown;
      if (first === undefined) return undefined;
      const chosen =
        second !== undefined && isSecondTime(series, localMs, spans[first]!.toMs) ? second : first;
      return localMs - spans[chosen]!.offsetMs;
    },
  };
}

interface Span {
  fromMs: UtcMs;
  /** Exclusive. */
  toMs: UtcMs;
  offsetMs: number;
}

function spansOf(zone: string): Span[] {
  const fixed = /^([+-])(\d\d):(\d\d)$/.exec(zone);
  if (fixed) {
    const minutes = Number(fixed[2]) * 60 + Number(fixed[3]);
    const offsetMs = (fixed[1] === '-' ? -1 : 1) * minutes * 60_000;
    return [{ fromMs: FROM_MS, toMs: Number.POSITIVE_INFINITY, offsetMs }];
  }
  const offsets = zoneOffsets(zone, FROM_MS, TO_MS);
  return offsets.map((offset, index) => ({
    ...offset,
    toMs: offsets[index + 1]?.fromMs ?? Number.POSITIVE_INFINITY,
  }));
}
