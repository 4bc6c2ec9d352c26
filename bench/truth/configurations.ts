import type { EnergyStreamInput } from '../../src/config/energy-stream.ts';
import type { Plan } from './plan.ts';

/**
 * The fields that a device may send: a lifetime register, a daily register, power, the energy of an interval.
 */
export type Field = 'total' | 'daily' | 'power' | 'energy';

/** The fields of a recording, in the order that the roll-up tries them. */
export const configurations = {
  total: ['total'],
  'total + power': ['total', 'power'],
  'total + daily + power': ['total', 'daily', 'power'],
  'daily + power': ['daily', 'power'],
  power: ['power'],
  interval: ['energy'],
} as const satisfies Record<string, readonly Field[]>;
export type ConfigurationName = keyof typeof configurations;

/** How likely each configuration is. */
export const configurationShares: ReadonlyArray<readonly [share: number, name: ConfigurationName]> = [
  [0.2, 'total'],
  [0.1, 'total + power'],
  [0.24, 'total + daily + power'],
  [0.18, 'daily + power'],
  [0.18, 'power'],
  [0.1, 'interval'],
];

/**
 * The energy streams of a recording. A fault may add to them what a person would declare, such as a modulus.
 */
export function streamsOf(plan: Plan, table: string): EnergyStreamInput[] {
  const limit = plan.maxPowerW === undefined ? {} : { maxPower: `${plan.maxPowerW} W` };
  const label = plan.label === 'end' ? { label: plan.label } : {};
  const interval = plan.declaresInterval ? { interval: `${plan.everyMs}ms` } : {};
  const streams: Record<Field, EnergyStreamInput> = {
    total: { table, field: 'total', method: 'total_energy', unit: plan.total.unit, ...limit },
    daily: { table, field: 'daily', method: 'daily_energy', unit: plan.daily.unit, ...limit },
    power:
      plan.sampling === 'instantaneous'
        ? { table, field: 'power', method: 'power_curve', unit: plan.powerUnit, ...limit }
        : {
            table,
            field: 'power',
            method: 'power_curve',
            unit: plan.powerUnit,
            sampling: 'interval_average',
            ...label,
            ...interval,
            ...limit,
          },
    energy: {
      table,
      field: 'energy',
      method: 'interval_energy',
      unit: plan.total.unit,
      ...label,
      ...interval,
      ...limit,
    },
  };
  return configurations[plan.configuration].map((field) => streams[field]);
}
