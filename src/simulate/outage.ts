import { type DayBounds, HOUR_MS, MINUTE_MS, SECOND_MS, type UtcMs } from '../lib/time.ts';
import { draws, uniform } from './noise.ts';
import type { PlannedDevice, SitePlan } from './plan-site.ts';

/** A time in which a device measures but cannot be reached. Its readings arrive afterwards. */
export interface Outage {
  startMs: UtcMs;
  endMs: UtcMs;
}

const OUTAGE_MS_MAX = 90 * MINUTE_MS;
const BURST_MS = 6 * SECOND_MS;
const STRAGGLE_MS_MAX = 4 * MINUTE_MS;
const RESEND_MS_MAX = 2 * MINUTE_MS;
/** The longest time between an event and the arrival of its message. */
export const ARRIVAL_DELAY_MS_MAX =
  OUTAGE_MS_MAX + BURST_MS + STRAGGLE_MS_MAX + RESEND_MS_MAX + 10 * SECOND_MS;

/**
 * The outage of a device that begins on a day; undefined if there is none. On every day one inverter has an
 * outage in daylight. Other devices have one from time to time, some of them over midnight.
 */
export function outageOf(
  plan: SitePlan,
  device: PlannedDevice,
  bounds: DayBounds,
  dayNumber: number,
): Outage | undefined {
  const draw = (what: number) => uniform(plan.seed, what, device.index, bounds.startMs);
  const inverters = plan.devices.filter(({ kind }) => kind === 'inverter').length;
  const isDue = device.kind === 'inverter' && device.ordinal === dayNumber % inverters;
  if (!isDue && draw(draws.hasOutage) > 0.2) return undefined;
  const lengthMs = 15 * MINUTE_MS + Math.floor(draw(draws.outageLength) * (OUTAGE_MS_MAX - 15 * MINUTE_MS));
  const isOverMidnight = !isDue && draw(draws.isOverMidnight) < 0.4;
  const startMs = isOverMidnight
    ? bounds.endMs - Math.floor(lengthMs * (0.2 + 0.6 * draw(draws.outageStart)))
    : bounds.startMs + 9 * HOUR_MS + Math.floor(draw(draws.outageStart) * 6 * HOUR_MS);
  return { startMs, endMs: startMs + lengthMs };
}

/**
 * The arrivals of a message: usually one, two if it is sent again. `part` distinguishes messages of one
 * instant.
 */
export function arrivalsOf(
  plan: SitePlan,
  device: PlannedDevice,
  part: number,
  eventMs: UtcMs,
  outages: readonly Outage[],
): UtcMs[] {
  const draw = (what: number) => uniform(plan.seed, what, device.index, part, eventMs);
  const outage = outages.find(({ startMs, endMs }) => eventMs >= startMs && eventMs < endMs);
  const latencyMs = 150 + Math.floor(draw(draws.latency) * 2_000);
  // One message in fifty arrives after later ones.
  const stragglesMs = draw(draws.straggles) < 0.02 ? Math.floor(draw(draws.straggle) * STRAGGLE_MS_MAX) : 0;
  const firstMs = outage
    ? outage.endMs +
      SECOND_MS +
      Math.floor((BURST_MS * (eventMs - outage.startMs)) / (outage.endMs - outage.startMs))
    : eventMs + latencyMs + stragglesMs;
  const isSentAgain = draw(draws.isSentAgain) < (outage ? 0.06 : 0.01);
  return isSentAgain ? [firstMs, firstMs + 500 + Math.floor(draw(draws.resend) * RESEND_MS_MAX)] : [firstMs];
}
