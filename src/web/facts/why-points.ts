import type { ExplainedSource } from './answers.ts';

type WhyReading = ExplainedSource['readings'][number];

/** A reading that can be drawn. */
export interface Point {
  reading: WhyReading;
  ms: number;
  value: number;
}

/** The readings with a value, in order of time, and the range of the values that count. */
export function pointsOf({ readings }: ExplainedSource): { points: Point[]; low: number; high: number } {
  const points = readings
    .flatMap((reading) =>
      reading.value === null ? [] : [{ reading, ms: Date.parse(reading.time), value: reading.value }],
    )
    .sort((a, b) => a.ms - b.ms);
  // A spike would make the scale so large that the other readings look like a flat line. So the scale is for
  // the readings that count, and a spike is drawn at the edge.
  const counted = points.filter(({ reading }) => reading.fate === 'used' || reading.fate === 'repeated');
  const values = (counted.length > 0 ? counted : points).map(({ value }) => value);
  return { points, low: Math.min(...values), high: Math.max(...values) };
}

/**
 * The lines of the picture: the used readings, with a line for each segment. Two segments are not joined,
 * because a line between them would look like a fall that counts. After a jump, a segment begins with its
 * first reading, and so does its line. After a reset, a segment begins with the value zero at the time of the
 * last reading before the reset. That reading still belongs to the line before.
 */
export function linesOf(
  points: readonly Point[],
  segments: ReadonlyArray<Pick<ExplainedSource['segments'][number], 'from' | 'fromWh'>>,
): Point[][] {
  const lines: Point[][] = [[]];
  const breaks = segments.slice(1).map(({ from, fromWh }) => ({ ms: Date.parse(from), wh: fromWh }));
  for (const point of points) {
    if (point.reading.fate !== 'used' && point.reading.fate !== 'repeated') continue;
    while (breaks[0] && (point.ms > breaks[0].ms || isBeginOf(point, breaks[0]))) {
      if (lines.at(-1)!.length > 0) lines.push([]);
      breaks.shift();
    }
    lines.at(-1)!.push(point);
  }
  return lines.filter((line) => line.length > 0);
}

function isBeginOf({ ms, value }: Point, segment: { ms: number; wh: number }): boolean {
  return ms === segment.ms && Math.abs(value - segment.wh) < 1;
}

/** The points that can be chosen: those of the day, and those at its two ends. */
export function pointsWithin(
  points: readonly Point[],
  { startMs, endMs }: { startMs: number; endMs: number },
): Point[] {
  return points.filter(({ ms }) => ms >= startMs && ms <= endMs);
}

/** The nearest point within reach of an instant. One that is not used counts as four times nearer. */
export function nearestPoint(points: readonly Point[], ms: number, reachMs: number): Point | undefined {
  let best: { point: Point; distance: number } | undefined;
  for (const point of points) {
    const distanceMs = Math.abs(point.ms - ms);
    if (distanceMs > reachMs) continue;
    const distance = distanceMs * (point.reading.fate === 'used' ? 1 : 0.25);
    if (!best || distance < best.distance) best = { point, distance };
  }
  return best?.point;
}

/** A period that contains only this reading: its millisecond. */
export function spanOf(time: string): { from: string; to: string } {
  return { from: time, to: new Date(Date.parse(time) + 1).toISOString() };
}
