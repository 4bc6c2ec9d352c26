import type { EnergyStreamInput } from '../config/energy-stream.ts';
import { draws, hash, uniform } from './noise.ts';

/** The devices of a site. They follow from the seed and the number of devices. */
export interface SitePlan {
  seed: number;
  latitudeDegrees: number;
  devices: PlannedDevice[];
}

export interface PlannedDevice {
  /** The position in the plan. Random numbers are computed from it. */
  index: number;
  /** The position among devices of the same kind. */
  ordinal: number;
  kind: DeviceKind;
  deviceId: string;
  name: string;
  table: string;
  sources: PlannedSource[];
  /** The delay of readings after each full step, so that devices do not send at the same moment. */
  phaseMs: number;
}

export interface PlannedSource {
  /** Null if the device sends no source. */
  name: string | null;
  /** The lifetime register when the site began (Wh). */
  initialWh: number;
  /** The peak power of a string of panels (W); 0 for other devices. */
  peakW: number;
}

export type DeviceKind = 'meter' | 'battery' | 'inverter';

/** The energy fields, as in the configuration of a workgroup. */
export const siteEnergyStreams: EnergyStreamInput[] = [
  { table: 'solar', field: 'total_wh', method: 'total_energy', unit: 'Wh', maxPower: '15 kW' },
  { table: 'solar', field: 'today_wh', method: 'daily_energy', unit: 'Wh', maxPower: '15 kW' },
  { table: 'solar', field: 'power_w', method: 'power_curve', unit: 'W' },
  { table: 'battery', field: 'register_wh', method: 'total_energy', unit: 'Wh', maxPower: '10 kW' },
  { table: 'grid', field: 'register_wh', method: 'total_energy', unit: 'Wh', maxPower: '60 kW' },
];

/** Creates the devices of a site: panels first, then a meter, a battery, and more panels. */
export function planSite(seed: number, deviceCount: number): SitePlan {
  const devices: PlannedDevice[] = [];
  const ordinals: Record<DeviceKind, number> = { meter: 0, battery: 0, inverter: 0 };
  for (let index = 0; index < deviceCount; index++) {
    const kind: DeviceKind = index === 1 ? 'meter' : index === 2 ? 'battery' : 'inverter';
    devices.push(planDevice(seed, index, kind, ordinals[kind]++));
  }
  return { seed, latitudeDegrees: 42 + 10 * uniform(seed, draws.latitude), devices };
}

function planDevice(seed: number, index: number, kind: DeviceKind, ordinal: number): PlannedDevice {
  const source = (name: string | null, number: number): PlannedSource => ({
    name,
    // At least the energy of a year, so that a restart at zero is clear.
    initialWh: 1_000_000 + Math.floor(uniform(seed, draws.initialWh, index, number) * 40_000_000),
    peakW: kind === 'inverter' ? 2_500 + Math.floor(uniform(seed, draws.peakW, index, number) * 5_000) : 0,
  });
  const common = { index, ordinal, kind, deviceId: deviceIdOf(seed, index) };
  switch (kind) {
    case 'meter':
      return {
        ...common,
        name: 'grid meter',
        table: 'grid',
        sources: [source('import', 0), source('export', 1)],
        phaseMs: 0,
      };
    case 'battery':
      return {
        ...common,
        name: 'battery',
        table: 'battery',
        sources: [source('charge', 0), source('discharge', 1)],
        phaseMs: 0,
      };
    case 'inverter': {
      const names = [[null], ['east', 'west'], ['roof']][ordinal % 3]!;
      return {
        ...common,
        name: `inverter ${ordinal + 1}`,
        table: 'solar',
        sources: names.map(source),
        phaseMs: Math.floor(uniform(seed, draws.phase, index) * 1_000),
      };
    }
    default:
      return kind satisfies never;
  }
}

/** A UUID of version 4 that follows from the seed and the device. */
function deviceIdOf(seed: number, index: number): string {
  const hex = [0, 1, 2, 3]
    .map((word) => hash(seed, draws.deviceId, index, word).toString(16).padStart(8, '0'))
    .join('');
  const variant = '89ab'[hash(seed, draws.deviceIdVariant, index) % 4]!;
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20)}`;
}
