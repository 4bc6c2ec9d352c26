import { z } from 'zod';
import { deviceIdSchema, nameSchema, tableNameSchema } from '../contract/messages.ts';
import { type Dimension, parseQuantity, unitFactor, unitProblem, unitTable } from '../lib/units.ts';

/** The methods to compute energy from a field. */
export const energyMethods = ['total_energy', 'daily_energy', 'power_curve', 'interval_energy'] as const;
export type EnergyMethod = (typeof energyMethods)[number];

/** A quantity with its unit as text, or a number in the canonical unit (Wh, W, ms). */
function quantity(dimension: Dimension, example: string) {
  return z
    .union([z.number(), z.string()])
    .transform((value, context) => {
      const amount = typeof value === 'number' ? value : parseQuantity(dimension, value);
      if (amount === undefined) {
        const units = unitTable(dimension).map(([unit]) => unit);
        context.addIssue({
          code: 'custom',
          message: `must be a number with one of ${units.join(', ')}, such as "${example}"`,
        });
        return z.NEVER;
      }
      return amount;
    })
    .refine((amount) => amount > 0, { error: 'must be more than 0' })
    .meta({ dimension });
}

const registerChangeSchema = z.strictObject({
  device: deviceIdSchema,
  source: nameSchema.optional(),
  /** The instant at which the register was replaced or set. */
  at: z.iso.datetime({ offset: true }).transform((text) => Date.parse(text)),
  /** The last value of the old register and the first value of the new one, in the unit of the stream. */
  final: z.number(),
  initial: z.number().default(0),
});

/** The settings of a field with energy. Quantities are Wh, W and ms after parsing. */
export const energyStreamSchema = z
  .strictObject({
    table: tableNameSchema,
    field: nameSchema,
    method: z.enum(energyMethods),
    /** Unit of the values: an energy unit, or a power unit for power_curve. Default: Wh or W. */
    unit: z.string().optional(),
    /** A field of the same message with the unit of each reading. */
    unitField: nameSchema.optional(),
    multiplier: z.number().positive().default(1),
    maxPower: quantity('power', '10 kW').optional(),
    jitter: quantity('energy', '100 Wh').optional(),
    /**
     * The number of values of the register, in its own unit before the multiplier. Without it rollovers are
     * not recognised.
     */
    modulus: z.number().positive().optional(),
    register: z.enum(['lifetime', 'net']).default('lifetime'),
    registerChanges: z.array(registerChangeSchema).default([]),
    boundary: z.enum(['interpolate', 'within_day']).default('interpolate'),
    sampling: z.enum(['instantaneous', 'interval_average', 'on_change']).default('instantaneous'),
    /** The end of its interval that the time of a value means. */
    label: z.enum(['start', 'end']).default('start'),
    /** The length of the interval. Default: the median time between readings. */
    interval: quantity('duration', '15m').optional(),
    maxGap: quantity('duration', '1h').optional(),
    /** Only energy in this direction is counted. */
    direction: z.enum(['positive', 'negative']).optional(),
    /**
     * The source of the energy, instead of the source of the message. Two registers of one message can be two
     * sources, and a signed field can feed two, one for each direction.
     */
    as: nameSchema.optional(),
  })
  .transform((stream, context) => {
    const dimension = dimensionOf(stream.method);
    const unit = stream.unit ?? (dimension === 'power' ? 'W' : 'Wh');
    const problem = unitProblem(dimension, unit);
    if (problem) context.addIssue({ code: 'custom', path: ['unit'], message: problem });
    for (const issue of impossible({ ...stream, unit })) context.addIssue({ code: 'custom', ...issue });
    return problem ? z.NEVER : { ...stream, unit };
  });

export type EnergyStream = z.output<typeof energyStreamSchema>;
export type EnergyStreamInput = z.input<typeof energyStreamSchema>;

/** The dimension of the values of a field. */
export function dimensionOf(method: EnergyMethod): 'energy' | 'power' {
  return method === 'power_curve' ? 'power' : 'energy';
}

/** The size of the register in Wh, if it is set. */
export function modulusWhOf({ method, unit, multiplier, modulus }: EnergyStream): number | undefined {
  return modulus === undefined ? undefined : modulus * unitFactor(dimensionOf(method), unit)! * multiplier;
}

/** The largest value of a register, Wh. Larger values are rejected, so that sums stay exact. */
export const REGISTER_WH_MAX = 1e15;

/** Finds settings that contradict each other. */
function impossible(stream: EnergyStream): Array<{ path: Array<string | number>; message: string }> {
  const { jitter, modulus, registerChanges } = stream;
  const issues: ReturnType<typeof impossible> = [];
  const modulusWh = modulusWhOf(stream);
  const factor = unitFactor(dimensionOf(stream.method), stream.unit) ?? 1;
  const isTooLarge = (value: number) => Math.abs(value * factor * stream.multiplier) > REGISTER_WH_MAX;
  const tooLarge = `is more than ${REGISTER_WH_MAX} Wh, the maximum of a register; check the unit and the multiplier`;
  if (modulus !== undefined && isTooLarge(modulus)) issues.push({ path: ['modulus'], message: tooLarge });
  for (const [index, change] of registerChanges.entries()) {
    for (const name of ['final', 'initial'] as const)
      if (isTooLarge(change[name]))
        issues.push({ path: ['registerChanges', index, name], message: tooLarge });
  }
  if (jitter !== undefined && modulusWh !== undefined && jitter >= modulusWh) {
    issues.push({
      path: ['jitter'],
      message: `${jitter} Wh must be less than the size of the register, modulus ${modulus} ${stream.unit} = ${modulusWh} Wh; otherwise no fall counts`,
    });
  }
  for (const [index, change] of registerChanges.entries()) {
    for (const name of ['final', 'initial'] as const) {
      if (modulus !== undefined && change[name] > modulus) {
        issues.push({
          path: ['registerChanges', index, name],
          message: `${change[name]} is more than modulus ${modulus}; both are in the unit of the field, before the multiplier`,
        });
      }
    }
    const before = registerChanges.findLast(
      (other, at) => at < index && other.device === change.device && other.source === change.source,
    );
    if (before && before.at >= change.at) {
      issues.push({
        path: ['registerChanges', index, 'at'],
        message: 'must be later than the previous change of the same device and source; sort them by time',
      });
    }
  }
  return issues;
}
