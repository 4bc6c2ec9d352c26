import {
  addDays,
  type DayBounds,
  dayBounds,
  HOUR_MS,
  MINUTE_MS,
  SECOND_MS,
  type UtcMs,
} from '../../src/lib/time.ts';
import { hash } from '../../src/simulate/noise.ts';
import { type Chance, createChance } from './chance.ts';
import { type ConfigurationName, configurationShares, configurations, type Field } from './configurations.ts';
import { type Curve, createCurve } from './curve.ts';
import { createDevice, type Device, type DeviceKind, deviceKinds } from './devices.ts';
import { type Place, places, seasons } from './places.ts';

/** The unit that a register is written in, and the decimals it shows. */
export interface Display {
  unit: 'Wh' | 'kWh';
  decimals: 0 | 1 | 2 | 3;
}

/** When a daily register starts again from zero. */
export type DailyReset = 'midnight' | 'wake_up' | 'noon' | 'utc_midnight';

/** The properties that a recording needs for a fault. All other properties are random. */
export interface Wants {
  deviceKinds?: readonly DeviceKind[];
  everyMs?: readonly number[];
  jitter?: readonly Jitter[];
  dailyResets?: readonly DailyReset[];
  displays?: readonly Display[];
  begins?: readonly Begin[];
  timezones?: readonly string[];
  /** The device sends nothing while it has no power. */
  sleeps?: boolean;
  /** The lifetime register has counted days, not years. */
  isYoung?: boolean;
}

/**
 * The difference between the times of readings and a regular grid: none, a second or two, a share of the
 * step, or each step is a little longer.
 */
export type Jitter = 'none' | 'seconds' | 'share' | 'slow';
/** The time of the first reading: the first midnight, any hour, noon, or sunrise. */
export type Begin = 'midnight' | 'any' | 'noon' | 'dawn';

/** The properties of a recording before its faults. */
export interface Plan {
  chance: Chance;
  place: Place;
  /** The local days that it lies in. */
  days: DayBounds[];
  device: Device;
  curve: Curve;
  configuration: ConfigurationName;
  fields: readonly Field[];
  maxPowerW: number | undefined;
  everyMs: number;
  jitter: Jitter;
  begins: Begin;
  /** The device sends nothing while it has no power. */
  sleeps: boolean;
  sampling: 'instantaneous' | 'interval_average';
  label: 'start' | 'end';
  declaresInterval: boolean;
  powerUnit: 'W' | 'kW';
  total: Display;
  daily: Display;
  dailyReset: DailyReset;
  /** What the lifetime register showed when the curve began. */
  startWh: number;
}

const displays: readonly Display[] = [
  { unit: 'Wh', decimals: 0 },
  { unit: 'kWh', decimals: 2 },
  { unit: 'kWh', decimals: 1 },
  { unit: 'kWh', decimals: 0 },
];

const finest: readonly Display[] = [{ unit: 'kWh', decimals: 3 }];

/** Wh between two values that a display can show. */
export function stepWhOf({ unit, decimals }: Display): number {
  return (unit === 'kWh' ? 1_000 : 1) / 10 ** decimals;
}

/** The curve ends after the last midnight, because some values are averages of the time after them. */
const MARGIN_MS = 2 * HOUR_MS;

/** The place and the season of a recording. */
function drawPlace(chance: Chance, { timezones }: Wants) {
  const allowed = places.filter(({ timezone }) => timezones?.includes(timezone) ?? true);
  return { place: chance.pick('place', allowed), season: chance.pick('season', seasons) };
}

/** The warehouse that a recording belongs to, without making the recording. */
export function groupOf(seed: number, number: number, wants: Wants): string {
  const { place, season } = drawPlace(createChance(hash(seed, number)), wants);
  return `${place.timezone} ${season}`;
}

/** Plans the recording with this number. The plan depends only on the seed and the number. */
export function planRecording(
  seed: number,
  number: number,
  wants: Wants,
  fits: (fields: readonly Field[]) => boolean,
): Plan {
  const chance = createChance(hash(seed, number));
  const { place, season } = drawPlace(chance, wants);
  const everyMs = wants.everyMs ? chance.pick('every', wants.everyMs) : chance.weighted('every', steps);
  const first = addDays(season, chance.whole('first day', 0, 4));
  const last = addDays(first, chance.whole('days', 7, daysMax(everyMs)) - 1);
  const days = dayBounds(first, last, place.timezone);
  const device = createDevice(chance.pick('device', wants.deviceKinds ?? usualKinds), place, chance);
  const curve = createCurve(days[0]!.startMs - MARGIN_MS, days.at(-1)!.endMs + MARGIN_MS, device.powerAt);
  const dailyWh = curve.energyWh(days[0]!.startMs, days.at(-1)!.endMs) / days.length;
  const configuration = chance.weighted(
    'configuration',
    configurationShares.filter(([, name]) => fits(configurations[name])),
  );
  const isAverage = chance.isTrue('average', 0.4);
  // A register does not show the energy of a day if its step is an eighth of that energy or more. The same
  // holds for a load profile if its step is more than a tenth of the largest energy of an interval.
  const mostWh = configuration === 'interval' ? (device.installedW * everyMs) / HOUR_MS / 10 : dailyWh / 8;
  const readable = displays.filter((display) => stepWhOf(display) <= mostWh);
  const display = (label: string) =>
    chance.pick(label, wants.displays ?? (readable.length > 0 ? readable : finest));
  return {
    chance,
    place,
    days,
    device,
    curve,
    configuration,
    fields: configurations[configuration],
    maxPowerW: chance.isTrue('has maxPower', 0.5)
      ? Math.ceil(device.installedW * chance.between('maxPower', 1.02, 1.5))
      : undefined,
    everyMs,
    // The intervals of a load profile lie on a grid.
    jitter:
      configuration === 'interval'
        ? 'none'
        : chance.pick('jitter', wants.jitter ?? (['none', 'seconds', 'seconds', 'share', 'slow'] as const)),
    begins: chance.pick('begins', wants.begins ?? (['midnight', 'midnight', 'any'] as const)),
    sleeps: device.kind === 'solar' && (wants.sleeps ?? chance.isTrue('sleeps', 0.4)),
    sampling: isAverage ? 'interval_average' : 'instantaneous',
    label: chance.pick('label', ['start', 'end']),
    declaresInterval: chance.isTrue('declares interval', 0.5),
    powerUnit: chance.isTrue('power in kW', 0.3) ? 'kW' : 'W',
    total: display('total display'),
    daily: display('daily display'),
    dailyReset: chance.pick(
      'daily reset',
      wants.dailyResets ??
        (device.kind === 'solar' ? (['midnight', 'wake_up'] as const) : (['midnight'] as const)),
    ),
    startWh: chance.isTrue('new meter', 0.06)
      ? 0
      : Math.max(dailyWh, 50) *
        (wants.isYoung || chance.isTrue('young', 0.25)
          ? chance.magnitude('age', 0.3, 12)
          : chance.magnitude('age', 12, 3_000)),
  };
}

const usualKinds: readonly DeviceKind[] = ['solar', 'solar', 'solar', 'house', 'charger', ...deviceKinds];

const steps: ReadonlyArray<readonly [share: number, everyMs: number]> = [
  [0.02, 10 * SECOND_MS],
  [0.03, 30 * SECOND_MS],
  [0.1, MINUTE_MS],
  [0.3, 5 * MINUTE_MS],
  [0.1, 10 * MINUTE_MS],
  [0.3, 15 * MINUTE_MS],
  [0.08, 30 * MINUTE_MS],
  [0.07, HOUR_MS],
];

/** Recordings of short steps are short, so that none has more readings than about 60,000. */
function daysMax(everyMs: number): number {
  return everyMs <= 10 * SECOND_MS ? 7 : everyMs <= 30 * SECOND_MS ? 10 : everyMs <= MINUTE_MS ? 14 : 21;
}

/** When the first reading is due. */
export function beginMsOf({ begins, chance, days, curve }: Plan): UtcMs {
  const { startMs } = days[0]!;
  switch (begins) {
    case 'midnight':
      return startMs;
    case 'any':
      return startMs + chance.whole('begins after', 20, 20 * 60) * MINUTE_MS;
    case 'noon':
      return startMs + 12 * HOUR_MS;
    case 'dawn': {
      let atMs = startMs;
      while (atMs < startMs + 20 * HOUR_MS && curve.powerW(atMs) === 0) atMs += MINUTE_MS;
      return atMs;
    }
    default:
      return begins satisfies never;
  }
}
