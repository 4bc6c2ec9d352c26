import { type DayBounds, HOUR_MS, type UtcMs } from '../lib/time.ts';
import { createBattery, isAwake, loadW, solarW } from './modelled-power.ts';
import type { PlannedDevice, PlannedSource, SitePlan } from './plan-site.ts';

/** One device and source on one local day, in the model. */
export interface SeriesDay {
  device: PlannedDevice;
  source: PlannedSource;
  /**
   * The instants of the readings. A device that also counts at night has one at the first instant of the day.
   */
  timesMs: UtcMs[];
  /** Power at each reading (W). */
  powerW: number[];
  /** Whole Wh since the beginning of the day, at each reading. */
  growthWh: number[];
  /** Whole Wh of the whole day. */
  totalWh: number;
  /** The index of the reading after which the register restarts at zero; undefined on most days. */
  restartAfter: number | undefined;
  /** The stored energy of the battery at each reading (Wh); empty for other devices. */
  storedWh: number[];
}

/** A counter restarts after this many days, each device's on another day. */
const RESTART_EVERY_DAYS = 9;

/**
 * Computes one local day of all devices.
 * @param dayNumber days since the first day of the site
 * @param fromMs the beginning of the site; nothing is counted before it
 */
export function modelDay(
  plan: SitePlan,
  bounds: DayBounds,
  dayNumber: number,
  stepMs: number,
  fromMs: UtcMs,
): SeriesDay[] {
  const balance = modelBalance(plan, bounds, stepMs, fromMs);
  return plan.devices.flatMap((device) =>
    device.sources.map((source) => {
      const series =
        device.kind === 'inverter'
          ? modelPanels(plan, bounds, device, source, stepMs, fromMs)
          : accumulate(device, source, balance.timesMs, balance.powers[source.name!]!, bounds.endMs, stepMs);
      return {
        ...series,
        storedWh: device.kind === 'battery' ? balance.storedWh : [],
        restartAfter: restartAfter(series, bounds, dayNumber),
      };
    }),
  );
}

type Counted = Omit<SeriesDay, 'restartAfter' | 'storedWh'>;

/**
 * Panels count between the first and the last reading of a day and sleep at night, so no energy is missed.
 */
function modelPanels(
  plan: SitePlan,
  bounds: DayBounds,
  device: PlannedDevice,
  source: PlannedSource,
  stepMs: number,
  fromMs: UtcMs,
): Counted {
  const timesMs: UtcMs[] = [];
  for (let ms = bounds.startMs + device.phaseMs; ms < bounds.endMs; ms += stepMs) {
    if (ms >= fromMs && isAwake(plan, bounds, ms)) timesMs.push(ms);
  }
  const powerW = timesMs.map((ms) => solarW(plan, bounds, source, ms));
  return accumulate(device, source, timesMs, powerW, timesMs.at(-1) ?? bounds.startMs, stepMs);
}

/**
 * Adds up power to whole Wh. The power of a reading holds until the next one, and the last one until
 * `untilMs`.
 */
function accumulate(
  device: PlannedDevice,
  source: PlannedSource,
  timesMs: UtcMs[],
  powerW: number[],
  untilMs: UtcMs,
  stepMs: number,
): Counted {
  const growthWh: number[] = [];
  let wattMs = 0;
  for (const [index, ms] of timesMs.entries()) {
    growthWh.push(Math.floor(wattMs / HOUR_MS));
    wattMs += powerW[index]! * Math.min(stepMs, untilMs - ms);
  }
  return { device, source, timesMs, powerW, growthWh, totalWh: Math.floor(wattMs / HOUR_MS) };
}

/** The panels, house, battery and grid of a day. Their powers add up to zero. */
function modelBalance(plan: SitePlan, bounds: DayBounds, stepMs: number, fromMs: UtcMs) {
  const battery = createBattery(bounds);
  const panels = plan.devices.flatMap((device) => (device.kind === 'inverter' ? device.sources : []));
  const hasBattery = plan.devices.some((device) => device.kind === 'battery');
  const timesMs: UtcMs[] = [];
  const storedWh: number[] = [];
  const powers: Record<string, number[]> = { charge: [], discharge: [], import: [], export: [] };
  for (let ms = bounds.startMs; ms < bounds.endMs; ms += stepMs) {
    const surplusW =
      panels.reduce((sumW, source) => sumW + solarW(plan, bounds, source, ms), 0) - loadW(plan, bounds, ms);
    const heldWh = battery.storedWh();
    const batteryW = hasBattery ? battery.step(ms, stepMs, surplusW) : 0;
    if (ms < fromMs) continue;
    timesMs.push(ms);
    storedWh.push(heldWh);
    const gridW = batteryW - surplusW;
    powers.charge!.push(Math.max(0, batteryW));
    powers.discharge!.push(Math.max(0, -batteryW));
    powers.import!.push(Math.max(0, gridW));
    powers.export!.push(Math.max(0, -gridW));
  }
  return { timesMs, storedWh, powers };
}

/** Inverters and batteries restart their counters about an hour after noon, right after a reading. */
function restartAfter(
  { device, timesMs }: Counted,
  bounds: DayBounds,
  dayNumber: number,
): number | undefined {
  if (device.kind === 'meter' || dayNumber % RESTART_EVERY_DAYS !== device.ordinal % RESTART_EVERY_DAYS)
    return undefined;
  const index = timesMs.findLastIndex((ms) => ms < bounds.startMs + 13 * HOUR_MS);
  return index === -1 ? undefined : index;
}
