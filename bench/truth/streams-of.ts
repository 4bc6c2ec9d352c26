import type { EnergyStreamInput } from '../../src/config/energy-stream.ts';
import { configurations, type Field } from './configurations.ts';
import type { Plan } from './plan.ts';

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
