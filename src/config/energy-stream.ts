import { z } from 'zod';
import { deviceIdSchema, nameSchema, tableNameSchema } from '../contract/messages.ts';
import { type Dimension, parseQuantity, unitFactor, unitProblem, unitTable } from '../lib/units.ts';

/** The ways energy is read from a field, by the names of the field's standard. */
export const energyMethods = ['total_energy', 'daily_energy', 'power_curve', 'interval_energy'] as const;
export type EnergyMethod = (typeof energyMethods)[number];

/** A quantity with its unit in text, or a bare number in the canonical unit (Wh, W, ms). */
function quantity(dimension: Dimension, example: string) {
  return z
    .union([z.number().finite(), z.string()])
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
    .refine((amount) => amount > 0, { error: 'must be more than 0' });
}

const registerEpochSchema = z.strictObject({
  device: deviceIdSchema,
  source: nameSchema.optional(),
  /** The instant the register was replaced or set. */
  at: z.iso.datetime({ offset: true }).transform((text) => Date.parse(text)),
  /** The old register's last value and the new one's first, in the stream's unit. */
  final: z.number().finite(),
  initial: z.number().finite().default(0),
});

/** What the configuration says of a field that tells energy. Quantities are Wh, W and ms once parsed. */
export const energyStreamSchema = z
  .strictObject({
    table: tableNameSchema,
    field: nameSchema,
    method: z.enum(energyMethods),
    /** Unit of the field's values: an energy unit, or a power unit for power_curve. Default Wh or W. */
    unit: z.string().optional(),
    /** A field beside it that names the unit of each reading. */
    unitField: nameSchema.optional(),
    multiplier: z.number().finite().positive().default(1),
    maxPower: quantity('power', '10 kW').optional(),
    jitter: quantity('energy', '100 Wh').optional(),
    /** The register's size, in its own unit before the multiplier; rollover is recognised only where it is declared. */
    modulus: z.number().finite().positive().optional(),
    register: z.enum(['lifetime', 'net']).default('lifetime'),
    registerEpochs: z.array(registerEpochSchema).default([]),
    boundary: z.enum(['interpolate', 'within_day']).default('interpolate'),
    sampling: z.enum(['instantaneous', 'interval_average', 'on_change']).default('instantaneous'),
    /** Which end of its interval a value is stamped with. */
    label: z.enum(['start', 'end']).default('start'),
    /** The interval's length; where it is not given, the median step between readings. */
    interval: quantity('duration', '15m').optional(),
    maxGap: quantity('duration', '1h').optional(),
    /** Only the energy that flows this way is counted. */
    direction: z.enum(['positive', 'negative']).optional(),
    /**
     * The source that its energy is booked as, whatever source a message names: so two registers of one message are two sources, and a signed
     * field feeds two, one by each direction.
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

/** What the values of a field are an amount of. */
export function dimensionOf(method: EnergyMethod): 'energy' | 'power' {
  return method === 'power_curve' ? 'power' : 'energy';
}

/** The register's size in Wh, where one is declared. */
export function modulusWhOf({ method, unit, multiplier, modulus }: EnergyStream): number | undefined {
  return modulus === undefined ? undefined : modulus * unitFactor(dimensionOf(method), unit)! * multiplier;
}

/** The largest value of a register, in Wh: more is rejected, so that sums stay exact. */
export const REGISTER_WH_MAX = 1e15;

/** Settings that contradict each other, so that no reading can be understood by them. */
function impossible(stream: EnergyStream): Array<{ path: Array<string | number>; message: string }> {
  const { jitter, modulus, registerEpochs } = stream;
  const issues: ReturnType<typeof impossible> = [];
  const modulusWh = modulusWhOf(stream);
  const factor = unitFactor(dimensionOf(stream.method), stream.unit) ?? 1;
  const isTooLarge = (value: number) => Math.abs(value * factor * stream.multiplier) > REGISTER_WH_MAX;
  const tooLarge = `in Wh it is more than ${REGISTER_WH_MAX}, the most that a register may show; check the unit and the multiplier`;
  if (modulus !== undefined && isTooLarge(modulus)) issues.push({ path: ['modulus'], message: tooLarge });
  for (const [index, epoch] of registerEpochs.entries()) {
    for (const name of ['final', 'initial'] as const)
      if (isTooLarge(epoch[name])) issues.push({ path: ['registerEpochs', index, name], message: tooLarge });
  }
  if (jitter !== undefined && modulusWh !== undefined && jitter >= modulusWh) {
    issues.push({
      path: ['jitter'],
      message: `${jitter} Wh is not less than the register's size, which is modulus ${modulus} ${stream.unit} = ${modulusWh} Wh, so that no fall would ever count`,
    });
  }
  for (const [index, epoch] of registerEpochs.entries()) {
    for (const name of ['final', 'initial'] as const) {
      if (modulus !== undefined && epoch[name] > modulus) {
        issues.push({
          path: ['registerEpochs', index, name],
          message: `${epoch[name]} is more than modulus ${modulus}; both are in the unit of the field, before the multiplier`,
        });
      }
    }
    const before = registerEpochs.findLast(
      (other, at) => at < index && other.device === epoch.device && other.source === epoch.source,
    );
    if (before && before.at >= epoch.at) {
      issues.push({
        path: ['registerEpochs', index, 'at'],
        message: 'must be later than the epoch before it of the same device and source; order them by time',
      });
    }
  }
  return issues;
}
