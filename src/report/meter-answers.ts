import { z } from 'zod';
import { wholeWh } from '../contract/whole-wh.ts';

/** The schemas of the answers about meters, budgets and sites. */

export const answeredDaySchema = z.string().meta({ description: 'Day, YYYY-MM-DD' });
const code = z.string().meta({ description: 'Code of the meter' });
export const wh = wholeWh;

export const meterDataSchema = z.record(answeredDaySchema, z.record(code, wh)).meta({
  description: 'Energy in Wh by day and meter; every day of the range has a key',
  example: { '2026-11-19': {}, '2026-11-20': { 'GRID-1': 12_345, PV: 20_100 } },
});
export const budgetDataSchema = z.record(answeredDaySchema, z.record(code, wh)).meta({
  description: 'Budget in Wh by day and meter; every day of the range has a key',
  example: { '2026-11-19': { PV: 18_000 }, '2026-11-20': { PV: 18_000 } },
});

const flagsSchema = z.array(z.string()).meta({
  description:
    'Quality flags: `estimated` if a reading was spread over several days or is an estimate, `partial` if readings cover less than the day; for a meter of a device the flags of daily-energy/details',
});
const meterDetailSchema = z.object({
  energyWh: wh.nullable().meta({
    description: 'Wh; null if a register fell, or if only sources that do not count have energy',
  }),
  quality: z
    .enum(['measured', 'estimated', 'substituted', 'fault'])
    .nullable()
    .meta({ description: 'The worst of the readings of the day; fault: a register fell' }),
  flags: flagsSchema,
  coverage: z.number().meta({ description: 'Share of the day (0 to 1) that readings cover' }),
  revision: z
    .number()
    .int()
    .meta({ description: 'The highest of its readings; of a device, the version of the day' }),
  source: z.object({
    kind: z.enum(['uploaded', 'derived']).meta({ description: "derived: from a device's telemetry" }),
    device: z.string().optional(),
    source: z
      .string()
      .nullish()
      .meta({ description: 'Source of the device; null for the device as a whole' }),
  }),
});
export const meterDetailsSchema = z.record(answeredDaySchema, z.record(code, meterDetailSchema)).meta({
  description: 'Energy by day and meter with its quality; every day of the range has a key',
  example: {
    '2026-11-20': {
      'GRID-1': {
        energyWh: 12_345,
        quality: 'measured',
        flags: ['estimated'],
        coverage: 1,
        revision: 2,
        source: { kind: 'uploaded' },
      },
      PV: {
        energyWh: 20_100,
        quality: 'measured',
        flags: [],
        coverage: 1,
        revision: 1,
        source: { kind: 'derived', device: '0b0e7c1e-0000-4000-8000-000000000001', source: 'total' },
      },
    },
  },
});

const budgetDetailSchema = z.object({
  energyWh: wh,
  scenario: z.string(),
  periodStart: z.string().meta({ description: 'First day of the period that was uploaded' }),
  periodEnd: z.string().meta({ description: 'Its last day, included' }),
  periodWh: wh.meta({ description: 'Wh of the whole period' }),
  flags: z
    .array(z.string())
    .meta({ description: '`estimated` if the period is longer than the day, so it was spread' }),
  revision: z.number().int(),
  uploadedAt: z.iso.datetime(),
});
export const budgetDetailsSchema = z.record(answeredDaySchema, z.record(code, budgetDetailSchema)).meta({
  description: 'Budget by day and meter with the period that it comes from; every day of the range has a key',
  example: {
    '2026-11-20': {
      PV: {
        energyWh: 18_000,
        scenario: 'P50',
        periodStart: '2026-11-01',
        periodEnd: '2026-11-30',
        periodWh: 540_000,
        flags: ['estimated'],
        revision: 1,
        uploadedAt: '2026-01-02T09:00:00.000Z',
      },
    },
  },
});
