import { z } from 'zod';
import { meterCodeSchema, meterDirections } from '../config/meters.ts';
import { isLocalDate, type LocalDate, type UtcMs } from '../lib/time.ts';

export const uploadKinds = ['meter_intervals', 'meter_registers', 'budget'] as const;
export type UploadKind = (typeof uploadKinds)[number];

export const qualities = ['measured', 'estimated', 'substituted'] as const;
export type Quality = (typeof qualities)[number];

/** One row of an upload as it is stored, and the line that it comes from. */
export interface MeterRow {
  line: number;
  meter: string;
  /** Instants; of a register both are when it was read. */
  start: UtcMs;
  end: UtcMs;
  /** What was used in the interval, or what the register showed. */
  energyWh: number;
  direction: (typeof meterDirections)[number] | null;
  quality: Quality;
}

export interface BudgetRow {
  line: number;
  meter: string;
  start: LocalDate;
  /** Included. */
  end: LocalDate;
  energyWh: number;
  scenario: string;
}

/** A file as it was understood, with nothing wrong in it. */
export type Upload =
  | { kind: 'meter_intervals' | 'meter_registers'; rows: MeterRow[] }
  | { kind: 'budget'; rows: BudgetRow[] };

const line = z.number().int().nonnegative();
const instant = z.number().int().min(0).max(Date.UTC(2100, 0));
/** A TWh at a time is more than any meter counts. */
export const ENERGY_WH_MAX = 1e15;
const energyWh = z.number().min(0).max(ENERGY_WH_MAX);
const day = z.string().refine(isLocalDate);
const meterRow = z.strictObject({
  line,
  meter: meterCodeSchema,
  start: instant,
  end: instant,
  energyWh,
  direction: z.enum(meterDirections).nullable(),
  quality: z.enum(qualities),
});
export const scenarioSchema = z.string().trim().min(1).max(64);

/** Rows on their way to the process that has the warehouse open. */
export const uploadSchema: z.ZodType<Upload> = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.enum(['meter_intervals', 'meter_registers']), rows: z.array(meterRow) }),
  z.strictObject({
    kind: z.literal('budget'),
    rows: z.array(
      z.strictObject({
        line,
        meter: meterCodeSchema,
        start: day,
        end: day,
        energyWh: energyWh.int(),
        scenario: scenarioSchema,
      }),
    ),
  }),
]);
