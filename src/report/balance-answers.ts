import { z } from 'zod';
import { wholeWh } from '../contract/whole-wh.ts';
import { balanceRoles } from '../roles/role.ts';

const role = z.enum(balanceRoles);
/** A role in the answer of a balance. */
export type AnsweredRole = z.infer<typeof role>;
const wh = wholeWh.nullable();
const rate = z.number().nullable();

const balanceSchema = z.object({
  intervals: z.number().int().meta({ description: '15-minute intervals that are over' }),
  days: z.number().int().nullable().meta({ description: 'For a month or a year: days that have begun' }),
  completeDays: z.number().int().nullable().meta({
    description: 'For a month or a year: the days in its sums, on which every measured role is known',
  }),
  productionWh: wh.meta({ description: 'Generated' }),
  consumptionWh: wh.meta({ description: 'Used by loads, without what charges a battery' }),
  gridImportWh: wh.meta({ description: 'From the grid' }),
  gridExportWh: wh.meta({ description: 'Into the grid' }),
  batteryChargeWh: wh.meta({ description: 'Into storage' }),
  batteryDischargeWh: wh.meta({ description: 'Out of storage' }),
  gridNetWh: wh.meta({ description: 'Import minus export' }),
  residualWh: wh.meta({
    description:
      'production + import + discharge - consumption - export - charge, by measured roles; 0 if a role is computed',
  }),
  selfConsumptionWh: wh.meta({
    description: 'Production minus export; negative if a battery feeds the grid',
  }),
  selfSupplyWh: wh.meta({
    description: 'Consumption minus import; negative if the grid charges a battery',
  }),
  gridToBatteryWh: wh.meta({ description: 'At least this much of the charge came from the grid' }),
  batteryToGridWh: wh.meta({ description: 'At least this much of the discharge went into the grid' }),
  selfConsumptionRate: rate.meta({
    description: 'Share of the production that was used, 0 to 1; null without production',
  }),
  autarky: rate.meta({
    description: 'Share of the consumption that did not come from the grid, 0 to 1; null without consumption',
  }),
  selfConsumptionMaxWh: wh.meta({ description: 'Self-consumption at most, with the flag shape_unknown' }),
  autarkyMax: rate.meta({ description: 'Autarky at most, 0 to 1, with the flag shape_unknown' }),
  specificYield: rate.meta({ description: 'kWh/kWp, if a peak power is configured; null for an interval' }),
  coverage: z
    .number()
    .meta({ description: 'Share of the intervals, 0 to 1, on which every measured role is known' }),
  computed: z.array(role).meta({ description: 'Roles without a source that are computed from the others' }),
  missing: z.array(role).meta({ description: 'Measured roles that are not known' }),
  restWh: z
    .record(z.string().meta({ description: '`<deviceId>.<source>`, or `site`' }), wh)
    .meta({ description: 'Energy of a source minus the sources that it contains' }),
  parts: z
    .array(
      z.object({
        device: z.string(),
        source: z.string(),
        role,
        wh,
        within: z
          .string()
          .nullable()
          .meta({ description: 'The source that contains it; a contained source is not added up' }),
      }),
    )
    .meta({ description: 'The sources, also contained ones; not for intervals' }),
  flags: z.array(z.string()).meta({
    description:
      'netted: import and export are computed from the rest; undetermined: too many roles are unknown; estimated; shape_unknown: readings are too far apart; incomplete: a measured role is not known; noise: a computed role is a little below 0; imbalance: energy in and energy out differ; grid_cycled: rates are lower bounds; peak_unknown',
  }),
});

const device = '0b0e7c1e-0000-4000-8000-000000000001';

export const balanceAnswerSchema = z
  .record(
    z.string().meta({
      description:
        'Start of the interval (YYYY-MM-DDTHH:MM:SSZ), day (YYYY-MM-DD), month (YYYY-MM) or year (YYYY)',
    }),
    balanceSchema,
  )
  .meta({
    description: 'Energy balance by period, in Wh; periods that have not begun are left out',
    example: {
      '2026-06-01': {
        intervals: 96,
        days: null,
        completeDays: null,
        productionWh: 1_600,
        consumptionWh: 1_700,
        gridImportWh: 800,
        gridExportWh: 700,
        batteryChargeWh: 0,
        batteryDischargeWh: 0,
        gridNetWh: 100,
        residualWh: 0,
        selfConsumptionWh: 900,
        selfSupplyWh: 900,
        gridToBatteryWh: 0,
        batteryToGridWh: 0,
        selfConsumptionRate: 0.5625,
        autarky: 0.5294,
        selfConsumptionMaxWh: null,
        autarkyMax: null,
        specificYield: 0.17,
        coverage: 1,
        computed: ['grid_export', 'grid_import'],
        missing: [],
        restWh: {},
        parts: [{ device, source: 'pv', role: 'production', wh: 1_600, within: null }],
        flags: ['netted'],
      },
    },
  });
