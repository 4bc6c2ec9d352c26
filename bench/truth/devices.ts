import { DAY_MS, HOUR_MS, MINUTE_MS, type UtcMs } from '../../src/lib/time.ts';
import { smoothNoise } from '../../src/simulate/noise.ts';
import type { Chance } from './chance.ts';
import type { Place } from './places.ts';

export const deviceKinds = ['solar', 'house', 'charger', 'constant', 'wind', 'factory'] as const;
export type DeviceKind = (typeof deviceKinds)[number];

/** A device that makes or takes energy. */
export interface Device {
  kind: DeviceKind;
  /** The nominal power (W). The device never gives or takes more. */
  installedW: number;
  /** Its true power at an instant (W), 0 or more. */
  powerAt: (ms: UtcMs) => number;
}

const models: Readonly<Record<DeviceKind, (place: Place, chance: Chance) => Omit<Device, 'kind'>>> = {
  solar,
  house,
  charger,
  constant,
  wind,
  factory,
};

export function createDevice(kind: DeviceKind, place: Place, chance: Chance): Device {
  const { installedW, powerAt } = models[kind](place, chance.of(kind));
  return { kind, installedW, powerAt: (ms) => Math.min(installedW, Math.max(0, powerAt(ms))) };
}

const RADIANS = Math.PI / 180;
/** The sine of the sun's height below which an inverter sleeps. */
const AWAKE_SINE = 0.03;

/** The sine of the sun's height, with the usual approximation of the declination. */
function sunSine({ latitudeDegrees, longitudeDegrees }: Place, ms: UtcMs): number {
  const yearMs = 365.2425 * DAY_MS;
  // The longest day of the northern year is day 172.
  const declination = 23.44 * RADIANS * Math.cos((2 * Math.PI * (ms - 172 * DAY_MS)) / yearMs);
  const hourAngle = 2 * Math.PI * (solarHour({ longitudeDegrees }, ms) / 24 - 0.5);
  const latitude = latitudeDegrees * RADIANS;
  return (
    Math.sin(latitude) * Math.sin(declination) +
    Math.cos(latitude) * Math.cos(declination) * Math.cos(hourAngle)
  );
}

/** The solar day of a place: days since 1970, and the hour of the day. */
function solarDay({ longitudeDegrees }: Pick<Place, 'longitudeDegrees'>, ms: UtcMs): number {
  return Math.floor((ms + (longitudeDegrees / 15) * HOUR_MS) / DAY_MS);
}

function solarHour({ longitudeDegrees }: Pick<Place, 'longitudeDegrees'>, ms: UtcMs): number {
  return ((((ms + (longitudeDegrees / 15) * HOUR_MS) % DAY_MS) + DAY_MS) % DAY_MS) / HOUR_MS;
}

/** Panels, from a few on a balcony to a solar park. Clouds pass, and some days are dark. */
function solar(place: Place, chance: Chance) {
  const installedW = chance.weighted('size', [
    [0.1, chance.magnitude('balcony', 300, 800)],
    [0.65, chance.magnitude('roof', 2_500, 30_000)],
    [0.25, chance.magnitude('field', 30_000, 1_000_000)],
  ]);
  return {
    installedW,
    powerAt(ms: UtcMs) {
      const sine = sunSine(place, ms);
      if (sine <= AWAKE_SINE) return 0;
      const light = chance.uniform('light', solarDay(place, ms));
      const overcast = smoothNoise(chance.seed, 1, ms, 7 * HOUR_MS);
      const passing =
        smoothNoise(chance.seed, 2, ms, 17 * MINUTE_MS) * smoothNoise(chance.seed, 3, ms, 4 * MINUTE_MS);
      const clouds = 1 - 0.5 * overcast - 0.4 * overcast * passing;
      return installedW * 0.95 * sine ** 1.15 * clouds * (light < 0.15 ? 0.12 : 0.5 + 0.5 * light);
    },
  };
}

/** A household: a base, a morning, an evening, and appliances that come and go. */
function house(place: Place, chance: Chance) {
  const baseW = chance.between('base', 60, 400);
  const size = chance.between('size', 0.5, 2);
  return {
    installedW: 14_000,
    powerAt(ms: UtcMs) {
      const hour = solarHour(place, ms);
      const bump = (atHour: number, widthHours: number) => Math.exp(-(((hour - atHour) / widthHours) ** 2));
      const slot = Math.floor(ms / (9 * MINUTE_MS));
      const isOn = chance.uniform('appliance', slot) > 0.93 - 0.12 * bump(15, 7);
      const applianceW = isOn ? chance.between('appliance power', 300, 2_800, slot) : 0;
      const flicker = smoothNoise(chance.seed, 4, ms, 5 * MINUTE_MS);
      return baseW + size * (500 * bump(7.5, 1.2) + 1_200 * bump(19.5, 2)) + applianceW + 120 * flicker;
    },
  };
}

/** A car that charges on some evenings, and sometimes over midnight. */
function charger(place: Place, chance: Chance) {
  const installedW = chance.pick('size', [3_700, 11_000, 11_000, 22_000]);
  return {
    installedW,
    powerAt(ms: UtcMs) {
      const day = solarDay(place, ms);
      const hour = solarHour(place, ms);
      const charges = [day - 1, day].some((one) => {
        const startHour = chance.between('start', 16.5, 23.5, one) + (one - day) * 24;
        const hours = chance.between('hours', 1, 6.5, one);
        return chance.isTrue('charges', 0.6, one) && hour >= startHour && hour < startHour + hours;
      });
      return charges ? 0.97 * installedW : 4;
    },
  };
}

/** A router, a pump, a fan: nearly the same at all times. */
function constant(_place: Place, chance: Chance) {
  const levelW = chance.magnitude('level', 18, 3_000);
  return {
    installedW: Math.max(20, levelW * 1.15),
    powerAt: (ms: UtcMs) => levelW * (0.9 + 0.2 * smoothNoise(chance.seed, 5, ms, 25 * MINUTE_MS)),
  };
}

/** A wind turbine. It runs at night as in the day, and sometimes not at all. */
function wind(_place: Place, chance: Chance) {
  const installedW = chance.magnitude('size', 5_000, 1_000_000);
  return {
    installedW,
    powerAt(ms: UtcMs) {
      const share =
        1.1 * smoothNoise(chance.seed, 6, ms, 9 * HOUR_MS) ** 2 -
        0.05 -
        0.2 * smoothNoise(chance.seed, 7, ms, 6 * MINUTE_MS);
      return installedW * share;
    },
  };
}

/** Machines that run by day, and less at night and at weekends. */
function factory(place: Place, chance: Chance) {
  const installedW = chance.magnitude('size', 30_000, 1_000_000);
  return {
    installedW,
    powerAt(ms: UtcMs) {
      const hour = solarHour(place, ms);
      const works = hour >= 6 && hour < 18 && solarDay(place, ms) % 7 < 5;
      const share = works ? 0.6 + 0.3 * smoothNoise(chance.seed, 8, ms, 20 * MINUTE_MS) : 0.1;
      return installedW * share;
    },
  };
}
