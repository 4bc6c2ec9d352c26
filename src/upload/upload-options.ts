import { z } from 'zod';
import { DAY_MS, isTimeZone, MINUTE_MS } from '../lib/time.ts';
import { parseQuantity, parseUnit, unitTable } from '../lib/units.ts';
import { type ColumnRole, columnRoles } from './find-columns.ts';
import { scenarioSchema } from './upload-rows.ts';

/** The facts that the user adds to a file. All values are text, from a command line or an address. */
export const uploadOptionsSchema = z.object({
  timezone: z
    .string()
    .refine(isTimeZone, { error: 'is not a time zone of the IANA database, such as "Europe/Paris"' })
    .optional()
    .meta({ description: 'IANA zone of times without an offset', example: 'Europe/Paris' }),
  unit: z
    .string()
    .transform((text) => parseUnit(text) ?? text)
    .refine((unit) => unitTable('energy').some(([name]) => name === unit), {
      error: `must be one of ${unitTable('energy')
        .map(([name]) => name)
        .join(', ')}`,
    })
    .optional()
    .meta({ description: 'Unit of energy, if neither a column nor its name has it', example: 'kWh' }),
  meter: z.string().optional().meta({ description: 'Code of the meter, if no column has it' }),
  scenario: scenarioSchema.optional().meta({
    description: 'Scenario of a budget, if no column has it: P50, P90, contract, reforecast or any name',
  }),
  year: z
    .string()
    .regex(/^(19[7-9]\d|20\d\d)$/, 'must be a year such as 2026')
    .transform(Number)
    .optional()
    .meta({ description: 'Year of a budget whose periods are months without a year' }),
  interval: z
    .string()
    .transform((text) => parseQuantity('duration', text) ?? 0)
    .refine((ms) => ms >= MINUTE_MS && ms <= 31 * DAY_MS, {
      error: 'must be a duration from "1m" to "31d", such as "15m"',
    })
    .optional()
    .meta({
      description: 'Length of the intervals, if only their starts or only their ends are given',
      example: '15m',
    }),
  delimiter: z
    .string()
    .transform((text) => (text === 'tab' ? '\t' : text))
    .refine((text) => text.length === 1, { error: 'must be one character, or "tab"' })
    .optional()
    .meta({ description: 'Character between the cells of CSV. Default: detected' }),
  decimal: z
    .enum(['.', ','], { error: 'must be "." or ","' })
    .optional()
    .meta({ description: 'Character before fractions. Default: detected' }),
});

export type UploadOptions = z.output<typeof uploadOptionsSchema> & {
  /** Names of columns with other names than the known ones, by meaning. */
  columns?: Partial<Record<ColumnRole, string>>;
};

/** @returns the role and the name of a text such as `energy=E-Total`; undefined if it has another form */
export function parseColumnOption(text: string): readonly [ColumnRole, string] | undefined {
  const at = text.indexOf('=');
  const role = columnRoles.find((one) => one === text.slice(0, at));
  return role === undefined ? undefined : [role, text.slice(at + 1)];
}
