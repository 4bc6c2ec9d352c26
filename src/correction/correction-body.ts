import { z } from 'zod';
import { deviceIdSchema, nameSchema, tableNameSchema } from '../contract/messages.ts';
import { isLocalDate, parseInstant } from '../lib/time.ts';
import { type CorrectionRequest, correctionLimits } from './correction-request.ts';

const instant = z
  .string()
  .refine((text) => (parseInstant(text) ?? -1) >= 0, {
    error: 'must be an instant since 1970 with its zone, such as 2026-11-20T13:00:00+01:00',
  })
  .meta({ example: '2026-11-20T13:00:00+01:00' });
const of = {
  device: deviceIdSchema.meta({ description: 'Device' }),
  source: nameSchema.meta({ description: 'Source of the device' }),
};
const why = {
  reason: z
    .string()
    .trim()
    .min(1, { error: 'must say why' })
    .max(correctionLimits.reasonCharactersMax)
    .meta({ description: 'The reason; everybody who can read the day can read it' }),
  key: z
    .string()
    .min(1)
    .max(correctionLimits.keyCharactersMax)
    .optional()
    .meta({ description: 'Any text of the caller. A request with the same key is stored once' }),
};
const between = {
  from: instant.meta({ description: 'First instant' }),
  to: instant.meta({ description: 'First instant after it' }),
};
const energyWh = z
  .int()
  .meta({ description: 'Energy of the whole time, Wh. It keeps the shape of the measured energy' });

/** The body of a request. */
export const bodySchema = z.discriminatedUnion('kind', [
  z
    .strictObject({
      kind: z.literal('exclude'),
      ...of,
      ...between,
      table: tableNameSchema.optional().meta({ description: 'Only readings of this table' }),
      field: nameSchema.optional().meta({ description: 'Only readings of this field' }),
      ...why,
    })
    .meta({ description: 'Readings that are not used, also those that come later' }),
  z
    .strictObject({ kind: z.literal('set'), ...of, ...between, energyWh, ...why })
    .meta({ description: 'Energy of whole quarters of an hour, 31 days at most' }),
  z
    .strictObject({
      kind: z.literal('set_day'),
      ...of,
      day: z
        .string()
        .refine(isLocalDate, { error: 'must be a day that exists, such as 2026-11-20' })
        .meta({ description: "Day in the workgroup's time zone", example: '2026-11-20' }),
      energyWh,
      ...why,
    })
    .meta({ description: 'Energy of a local day' }),
  z
    .strictObject({
      kind: z.literal('fill'),
      ...of,
      ...between,
      like: z.strictObject({ device: deviceIdSchema, source: nameSchema }).optional().meta({
        description: 'Another source to estimate by; without it, comparable days of the source itself',
      }),
      replace: z.boolean().optional().meta({
        description: 'With true, also replaces measured intervals; else only intervals without measurements',
      }),
      ...why,
    })
    .meta({ description: 'An estimate, computed once' }),
  z
    .strictObject({
      kind: z.literal('undo'),
      correction: z.int().min(1).meta({ description: 'Id of the correction to undo' }),
      ...why,
    })
    .meta({ description: 'Undoes another correction' }),
]);

/** The request to the owner of the warehouse. */
export function requestOf(body: z.output<typeof bodySchema>): CorrectionRequest {
  switch (body.kind) {
    case 'exclude':
    case 'set': {
      const { from, to, ...rest } = body;
      return { ...rest, fromMs: parseInstant(from)!, toMs: parseInstant(to)! };
    }
    case 'fill': {
      const { from, to, replace = false, ...rest } = body;
      return { ...rest, replace, fromMs: parseInstant(from)!, toMs: parseInstant(to)! };
    }
    case 'set_day':
      return body;
    case 'undo': {
      const { correction, ...rest } = body;
      return { ...rest, correctionId: correction };
    }
    default:
      return body satisfies never;
  }
}
