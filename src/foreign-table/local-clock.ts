import { MINUTE_MS, type UtcMs, zoneOffsets } from '../lib/time.ts';

/** Converts the times that clocks of a zone show to instants. */
export interface LocalClock {
  /**
   * @param localMs the time that the clock shows, as if it were UTC
   * @returns no instant if the clock was put forward over this time; two instants, in their order, if the
   * clock was put back and showed the time twice
   */
  instantsOf(localMs: number): UtcMs[];
  /**
   * Chooses between two instants by order. A series is in the second hour once it shows a time that is not
   * later than the one before. The times of a series must come in their order.
   * @param series names what the times belong to, such as a device
   * @returns undefined if the clock never showed this time
   */
  toUtc(localMs: number, series: string): UtcMs | undefined;
  /**
   * The instant at which the clock was put back over this time. Undefined if it showed the time once or
   * never.
   */
  putBackAt(localMs: number): UtcMs | undefined;
}

/** Instants that are read from files. */
export const FIRST_MS: UtcMs = 0;
export const END_MS: UtcMs = Date.UTC(2100, 0);

/**
 * Temporal gives the offsets of the zone once. To ask it for each time would take 20 to 70 times as long, and
 * files have millions of rows.
 * @param zone of the IANA database, or an offset such as `+01:00`
 */
export function createLocalClock(zone: string): LocalClock {
  const spans = spansOf(zone);
  const repeated = new Map<string, { until: UtcMs; lastLocalMs: number; isSecond: boolean }>();
  let current = 0;

  /** Moves to the last span that could show the time. */
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

  function spansThatShow(localMs: number): Span[] {
    seek(localMs);
    return [current - 1, current, current + 1]
      .filter((index) => isWithin(index, localMs))
      .map((index) => spans[index]!);
  }

  return {
    putBackAt(localMs) {
      const [first, second] = spansThatShow(localMs);
      return second && first!.toMs;
    },
    instantsOf: (localMs) => spansThatShow(localMs).map(({ offsetMs }) => localMs - offsetMs),
    toUtc(localMs, series) {
      const [first, second] = spansThatShow(localMs);
      if (!first) return undefined;
      const isSecond = second !== undefined && isSecondTime(series, localMs, first.toMs);
      return localMs - (isSecond ? second : first).offsetMs;
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
    const offsetMs = (fixed[1] === '-' ? -1 : 1) * minutes * MINUTE_MS;
    return [{ fromMs: FIRST_MS, toMs: Number.POSITIVE_INFINITY, offsetMs }];
  }
  const offsets = zoneOffsets(zone, FIRST_MS, END_MS);
  return offsets.map((offset, index) => ({
    ...offset,
    toMs: offsets[index + 1]?.fromMs ?? Number.POSITIVE_INFINITY,
  }));
}

/**
 * Finds the repeated hours of a series that the order of its times proves: the times rise, and in each of
 * these hours they fall or stand still once.
 * @param localTimes of one series, as its file lists them
 * @returns the instants at which the clock was put back. Empty if the times fall anywhere else, because then
 *   they are not in order
 */
export function findOrderedRepeats(localTimes: readonly number[], clock: LocalClock): Set<UtcMs> {
  const falls = new Map<UtcMs, number>();
  for (const [index, localMs] of localTimes.entries()) {
    const before = localTimes[index - 1];
    if (before === undefined || localMs > before) continue;
    const putBackAt = clock.putBackAt(localMs);
    if (putBackAt === undefined || putBackAt !== clock.putBackAt(before)) return new Set();
    falls.set(putBackAt, (falls.get(putBackAt) ?? 0) + 1);
  }
  return new Set([...falls].filter(([, count]) => count === 1).map(([putBackAt]) => putBackAt));
}
