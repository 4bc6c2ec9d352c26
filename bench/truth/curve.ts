import { HOUR_MS, MINUTE_MS, type UtcMs } from '../../src/lib/time.ts';

/** The true power of a device over time: straight lines between points that are a minute apart. */
export interface Curve {
  startMs: UtcMs;
  endMs: UtcMs;
  powerW(atMs: UtcMs): number;
  /** The exact energy between two instants: the area below the lines. */
  energyWh(fromMs: UtcMs, toMs: UtcMs): number;
}

/** The distance of two points of a curve. */
export const CURVE_STEP_MS = MINUTE_MS;

/**
 * @param powerAt W; called once for each point. The curve has nothing before its first point and after its
 *   last one
 */
export function createCurve(startMs: UtcMs, endMs: UtcMs, powerAt: (ms: UtcMs) => number): Curve {
  const points = Math.ceil((endMs - startMs) / CURVE_STEP_MS) + 1;
  const watts = new Float64Array(points);
  /** The energy up to each point, in W times ms. */
  const counted = new Float64Array(points);
  for (let index = 0; index < points; index++) {
    watts[index] = powerAt(startMs + index * CURVE_STEP_MS);
    if (index > 0)
      counted[index] = counted[index - 1]! + ((watts[index - 1]! + watts[index]!) / 2) * CURVE_STEP_MS;
  }

  function place(atMs: UtcMs): { index: number; afterMs: number } {
    const sinceMs = Math.min(Math.max(atMs - startMs, 0), (points - 1) * CURVE_STEP_MS);
    const index = Math.min(Math.floor(sinceMs / CURVE_STEP_MS), points - 2);
    return { index, afterMs: sinceMs - index * CURVE_STEP_MS };
  }

  function countedTo(atMs: UtcMs): number {
    const { index, afterMs } = place(atMs);
    const slope = (watts[index + 1]! - watts[index]!) / CURVE_STEP_MS;
    return counted[index]! + watts[index]! * afterMs + (slope * afterMs ** 2) / 2;
  }

  return {
    startMs,
    endMs: startMs + (points - 1) * CURVE_STEP_MS,
    powerW(atMs) {
      const { index, afterMs } = place(atMs);
      return watts[index]! + ((watts[index + 1]! - watts[index]!) * afterMs) / CURVE_STEP_MS;
    },
    energyWh: (fromMs, toMs) => (countedTo(toMs) - countedTo(fromMs)) / HOUR_MS,
  };
}
