import type { ExplainedSource } from './answers.ts';

export type WhyReading = ExplainedSource['readings'][number];

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
  // A spike must not press the readings that count into a line, so it is drawn at the edge.
  const counted = points.filter(({ reading }) => reading.fate === 'used' || reading.fate === 'repeated');
  const values = (counted.length > 0 ? counted : points).map(({ value }) => value);
  return { points, low: Math.min(...values), high: Math.max(...values) };
}

/** Used readings in stretches. An index that begins again begins another stretch, so no line suggests a fall that does not count. */
export function linesOf(points: readonly Point[], breaks: readonly number[]): Point[][] {
  const lines: Point[][] = [[]];
  let nextBreak = 0;
  for (const point of points) {
    if (point.reading.fate !== 'used' && point.reading.fate !== 'repeated') continue;
    while (nextBreak < breaks.length && point.ms > breaks[nextBreak]!) {
      if (lines.at(-1)!.length > 0) lines.push([]);
      nextBreak += 1;
    }
    lines.at(-1)!.push(point);
  }
  return lines.filter((line) => line.length > 0);
}

/** The point nearest to an instant; one that is not used is preferred within a small distance. */
export function nearestPoint(points: readonly Point[], ms: number, reachMs: number): Point | undefined {
  let best: { point: Point; distance: number } | undefined;
  for (const point of points) {
    const distance = Math.abs(point.ms - ms) * (point.reading.fate === 'used' ? 1 : 0.25);
    if (!best || distance < best.distance) best = { point, distance };
  }
  return best && Math.abs(best.point.ms - ms) <= reachMs ? best.point : undefined;
}

/** A time that holds one reading alone: its millisecond. */
export function spanOf(time: string): { from: string; to: string } {
  return { from: time, to: new Date(Date.parse(time) + 1).toISOString() };
}
