import { z } from 'zod';
import { meterCodeSchema, meterDirections } from '../config/meters.ts';
import { isLocalDate, type LocalDate, type UtcMs } from '../lib/time.ts';

const uploadKinds = ['meter_intervals', 'meter_registers', 'budget'] as const;
export type UploadKind = (typeof uploadKinds)[number];

/**
 * The qualities that a row of a file can have. A stored interval can also have the quality `fault`, without
 * energy: in it a register fell.
 */
export const qualities = ['measured', 'estimated', 'substituted'] as const;
export type Quality = (typeof qualities)[number];

/** One stored row of an upload, and its line in the file. */
export interface MeterRow {
  line: number;
  meter: string;
  /** Instants. For a register both are the time of reading. */
  start: UtcMs;
  end: UtcMs;
  /** The energy of the interval, or the value of the register. */
  energyWh: number;
  direction: (typeof meterDirections)[number] | null;
  quality: Quality;
}

export interface BudgetRow {
  line: number;
  meter: string;
  start: LocalDate;
  end: LocalDate;
  energyWh: number;
  scenario: string;
}

/** A file without problems. */
export type Upload =
  | { kind: 'meter_intervals' | 'meter_registers'; rows: MeterRow[] }
  | { kind: 'budget'; rows: BudgetRow[] };

const line = z.number().int().nonnegative();
const instant = z.number().int().min(0).max(Date.UTC(2100, 0));
/** The largest energy of a row. No meter counts more. */
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

/** Rows that are sent to the process that has the warehouse open. */
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
