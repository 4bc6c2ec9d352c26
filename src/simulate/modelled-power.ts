import { DAY_MS, type DayBounds, HOUR_MS, MINUTE_MS, type UtcMs } from '../lib/time.ts';
import { draws, smoothNoise, uniform } from './noise.ts';
import type { PlannedSource, SitePlan } from './plan-site.ts';

/** The sine of the sun's height below which inverters sleep. */
const AWAKE_SINE = 0.03;
const SOLAR_NOON_MS = 12.2 * HOUR_MS;
const RADIANS = Math.PI / 180;

/**
 * The sine of the sun's height, from date and latitude: the usual approximation of the declination, with noon
 * 12 hours after the first instant of the local day. It is dark around every midnight, also on days of 23 or
 * 25 hours.
 */
export function sunSine(plan: SitePlan, bounds: DayBounds, timeMs: UtcMs): number {
  const dayOfYear = (Date.parse(bounds.day) - Date.parse(`${bounds.day.slice(0, 4)}-01-01`)) / DAY_MS + 1;
  const declination = 23.44 * RADIANS * Math.sin((2 * Math.PI * (dayOfYear + 284)) / 365);
  const hourAngle = (2 * Math.PI * (timeMs - bounds.startMs - SOLAR_NOON_MS)) / DAY_MS;
  const latitude = plan.latitudeDegrees * RADIANS;
  return (
    Math.sin(latitude) * Math.sin(declination) +
    Math.cos(latitude) * Math.cos(declination) * Math.cos(hourAngle)
  );
}

export function isAwake(plan: SitePlan, bounds: DayBounds, timeMs: UtcMs): boolean {
  return sunSine(plan, bounds, timeMs) > AWAKE_SINE;
}

/** The power of a string of panels (W), with clouds. */
export function solarW(plan: SitePlan, bounds: DayBounds, source: PlannedSource, timeMs: UtcMs): number {
  const sine = sunSine(plan, bounds, timeMs);
  if (sine <= AWAKE_SINE) return 0;
  const overcast = smoothNoise(plan.seed, draws.overcast, timeMs, 8 * HOUR_MS);
  const passing =
    smoothNoise(plan.seed, draws.slowClouds, timeMs, 17 * MINUTE_MS) *
    smoothNoise(plan.seed, draws.fastClouds, timeMs, 3 * MINUTE_MS);
  const clouds = 1 - 0.55 * overcast - 0.4 * overcast * passing;
  return source.peakW * Math.sin((Math.PI / 2) * Math.min(1, sine)) ** 1.15 * clouds;
}

/** The power of the house (W): a base, a morning, an evening, and appliances. */
export function loadW(plan: SitePlan, bounds: DayBounds, timeMs: UtcMs): number {
  const hour = (timeMs - bounds.startMs) / HOUR_MS;
  const bump = (atHour: number, widthHours: number) => Math.exp(-(((hour - atHour) / widthHours) ** 2));
  const appliance =
    uniform(plan.seed, draws.appliance, Math.floor(timeMs / (12 * MINUTE_MS))) > 0.86 ? 1_800 : 0;
  const flicker = smoothNoise(plan.seed, draws.flicker, timeMs, 4 * MINUTE_MS);
  return 280 + 900 * bump(7.5, 1.2) + 1_700 * bump(19.5, 2) + appliance * bump(14, 7) + 150 * flicker;
}

export const BATTERY_CAPACITY_WH = 10_000;
const BATTERY_W_MAX = 4_000;
const RESERVE_WH = 1_500;
const DISCHARGE_FROM_MS = 16.5 * HOUR_MS;

/**
 * Creates the battery of one day. It begins and ends the day with its reserve, so that each day can be
 * computed alone.
 */
export function createBattery(bounds: DayBounds) {
  let storedWh = RESERVE_WH;
  return {
    storedWh: () => storedWh,
    /** The power of the next step (W): positive while it charges, negative while it discharges. */
    step(timeMs: UtcMs, stepMs: number, surplusW: number): number {
      const hours = stepMs / HOUR_MS;
      const sinceStartMs = timeMs - bounds.startMs;
      let powerW = 0;
      if (sinceStartMs < DISCHARGE_FROM_MS) {
        powerW = Math.max(0, Math.min(surplusW, BATTERY_W_MAX, (BATTERY_CAPACITY_WH - storedWh) / hours));
      } else {
        const hoursLeft = Math.max(hours, (bounds.endMs - HOUR_MS - timeMs) / HOUR_MS);
        powerW = -Math.min(BATTERY_W_MAX, Math.max(0, storedWh - RESERVE_WH) / hoursLeft);
      }
      storedWh += powerW * hours;
      return powerW;
    },
  };
}
