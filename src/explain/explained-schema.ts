import { z } from 'zod';
import { energyMethods } from '../config/energy-stream.ts';
import { wholeWh } from '../contract/whole-wh.ts';
import { dayStatuses } from '../rollup/day-statuses.ts';

/**
 * The JSON of an explanation. Instants are ISO 8601 in UTC, energy is Wh, power is W. It has everything from
 * which a day's energy follows, so that a person can compute it by hand.
 */

const time = z.iso.datetime();
const maybeTime = time.nullable();
const wh = wholeWh;
const method = z.enum(energyMethods);
const span = z.object({ from: time, to: time });

const readingSchema = z
  .object({
    time,
    value: z
      .number()
      .nullable()
      .meta({ description: 'Wh or W, even if the readings came in another unit; null if it has no value' }),
    fate: z
      .enum(['used', 'glitch', 'spike', 'standstill', 'excluded', 'repeated', 'revised', 'rejected'])
      .meta({
        description:
          'used; glitch, spike, standstill: left out, see events; excluded: by a person, see corrections; repeated: the same value came before; revised: another value of the same time counts; rejected: see reason',
      }),
    reason: z.string().nullable().meta({ description: 'Why it is not used, or a note about its use' }),
    text: z.string().nullable().meta({ description: 'The received text, if it was rejected' }),
    indexWh: z.number().nullable().meta({
      description:
        'The index of a register at this reading, if it is not the value itself: a held mark, or a later segment',
    }),
    batch: z.string().meta({ description: 'Batch that it landed in' }),
    landedAt: maybeTime,
  })
  .meta({ description: 'A reading inside the day, or a neighbour that the day needs' });
export type ExplainedReading = z.output<typeof readingSchema>;

const eventSchema = z.object({
  kind: z.enum([
    'reset',
    'rollover',
    'rebase',
    'register_change',
    'glitch',
    'spike',
    'standstill',
    'jitter',
    'carry_over',
    'gap',
    'midnight',
  ]),
  from: time,
  to: time,
  valueBefore: z.number().nullable(),
  valueAfter: z.number().nullable(),
  energyWh: z.number().meta({ description: 'Energy that the event books' }),
  text: z.string().meta({ description: 'The same as a sentence' }),
});
export type Event = z.output<typeof eventSchema>;

const pointSchema = z.object({ time, indexWh: z.number() });
const boundarySchema = z
  .object({
    time,
    how: z.enum(['reading', 'interpolated', 'shaped', 'restart', 'daily_register', 'unknown']).meta({
      description:
        'reading: there is one; interpolated: on a straight line between two; shaped: between two, by the power beside it; restart: a daily register begins at zero; daily_register: from the daily register beside it; unknown: no reading on one side',
    }),
    indexWh: z.number().nullable(),
    roundedWh: wh.nullable().meta({ description: 'Energy is the difference of the rounded index' }),
    before: pointSchema.nullable(),
    after: pointSchema.nullable(),
    fraction: z.number().nullable().meta({
      description: 'The part of the growth from before to after that lies before this time, 0 to 1',
    }),
    power: z
      .object({
        beforeWh: z.number(),
        allWh: z.number(),
        beforeMilliseconds: z.number(),
        allMilliseconds: z.number(),
      })
      .nullable()
      .meta({
        description:
          'For shaped boundaries: the energy of power up to the boundary and in all, and the time for which it is known. Time without power gets its even share, at most what allWh leaves of the growth. The rest of the growth is divided like the power, beforeWh of allWh',
      }),
    text: z.string(),
  })
  .meta({ description: 'The index of a register at the start or the end of the day' });
export type Boundary = z.output<typeof boundarySchema>;

const segmentSchema = z
  .object({
    from: time,
    to: time,
    fromWh: z.number(),
    toWh: z.number(),
    energyWh: wh.meta({ description: 'toWh, rounded, minus fromWh, rounded' }),
    begins: z.string().meta({ description: 'Why a new index segment begins here' }),
  })
  .meta({ description: 'A stretch in which the index of a register only grows' });
export type Segment = z.output<typeof segmentSchema>;

const partSchema = z
  .object({
    from: time,
    to: time,
    milliseconds: z.number(),
    fromW: z.number(),
    toW: z.number(),
    covered: z.boolean().meta({ description: 'false: not integrated' }),
    energyWh: z.number().meta({ description: '(fromW + toW) / 2 over the milliseconds, to nine decimals' }),
  })
  .meta({ description: 'A straight line of power, cut at 15-minute intervals' });
export type Part = z.output<typeof partSchema>;

const intervalSchema = z.object({
  start: time,
  energyWh: wh,
  exactWh: z
    .string()
    .nullable()
    .meta({ description: 'Before rounding; null for registers, which are rounded on their own value' }),
  coveredMilliseconds: z.number().int(),
});
export type Interval = z.output<typeof intervalSchema>;

const limitSchema = z.object({
  value: z.number().nullable(),
  from: z.enum(['configured', 'learnt', 'default', 'none']),
  text: z.string().meta({ description: 'Its origin' }),
});
export type Limit = z.output<typeof limitSchema>;
const limitsSchema = z.object({
  maxPowerW: limitSchema,
  jitterWh: limitSchema,
  resolutionWh: limitSchema,
  modulusWh: limitSchema,
  maxGapMilliseconds: limitSchema,
  intervalMilliseconds: limitSchema,
});
export type ExplainedLimits = z.output<typeof limitsSchema>;

const asSchema = z.string().nullable().meta({
  description:
    'The source to which its energy is booked, even if a message names another one; null: the one that the message names',
});

const streamSchema = z.object({
  place: z.number().int().meta({ description: 'In the order of the configuration, from 1' }),
  table: z.string(),
  field: z.string(),
  as: asSchema,
  method,
  unit: z.string(),
  chosen: z.boolean(),
  reason: z.string().meta({ description: 'Why it was chosen, or why not' }),
  energyWh: wh
    .nullable()
    .meta({ description: 'Energy of the day by this field; null if it does not cover the day' }),
  coverage: z.number().nullable(),
  firstReading: maybeTime,
  lastReading: maybeTime,
});
export type ExplainedStream = z.output<typeof streamSchema>;

const versionBatchSchema = z.object({
  batch: z.string(),
  origin: z.string().nullable().meta({ description: 'stream, or the name of an import' }),
  landedAt: maybeTime,
  readings: z.number().int().meta({ description: 'Number of its readings of this device and source' }),
  lateReadings: z.number().int().meta({ description: 'Number of them that landed after the day was over' }),
  from: time,
  to: time,
  touchesDay: z.boolean().meta({
    description: 'True if some are in the day or next to it; readings further away can change events',
  }),
});
export type VersionBatch = z.output<typeof versionBatchSchema>;

const versionSchema = z.object({
  version: z.number().int(),
  energyWh: wh.nullable().meta({ description: 'null if the day was withdrawn' }),
  method: method.nullable(),
  flags: z.array(z.string()),
  coverage: z.number().nullable(),
  computedAt: time,
  batch: z.string().meta({ description: 'The newest batch that was rolled up' }),
  changes: z.array(z.string()).meta({ description: 'Differences from the version before' }),
  batches: z.number().int().meta({ description: 'Number of batches with readings since then' }),
  causes: z.array(versionBatchSchema).meta({ description: 'The first of those batches' }),
  text: z.string(),
});
export type Version = z.output<typeof versionSchema>;

const flagSchema = z.object({
  flag: z.string(),
  meaning: z.string(),
  reason: z.string(),
  spans: z.array(span),
});
export type Flag = z.output<typeof flagSchema>;

const correctionSchema = z
  .object({
    id: z.number().int(),
    kind: z.enum(['exclude', 'set', 'set_day', 'fill', 'undo']),
    from: time,
    to: time,
    energyWh: wh
      .nullable()
      .meta({ description: 'Energy that was set or estimated in all; null if readings are excluded' }),
    undoes: z.number().int().nullable(),
    undoneBy: z.number().int().nullable().meta({ description: 'null while it is in force' }),
    reason: z.string(),
    author: z.string(),
    at: time,
    beforeWh: wh.nullable().meta({ description: 'The day without it, when it was made' }),
    afterWh: wh.nullable().meta({ description: 'The day with it, when it was made' }),
    text: z.string(),
  })
  .meta({ description: 'A correction of the day, or an undo' });
export type ExplainedCorrection = z.output<typeof correctionSchema>;

const resultSchema = z.object({
  energyWh: wh,
  method,
  table: z.string(),
  field: z.string(),
  status: z.enum(dayStatuses),
  version: z.number().int(),
  computedAt: time,
  coverage: z.number(),
  flags: z.array(z.string()),
});
export type Result = z.output<typeof resultSchema>;

const sumSchema = z.object({
  energyWh: wh,
  exactWh: z.string().nullable(),
  agrees: z.boolean().meta({
    description:
      'True if it equals the stored energy of the day; if energy was set or estimated, the measured part of it',
  }),
  text: z.string(),
});
export type Sum = z.output<typeof sumSchema>;

const sourceSchema = z.object({
  source: z.string(),
  result: resultSchema.nullable().meta({ description: 'The reported energy; null if the day has none' }),
  streams: z.array(streamSchema),
  limits: limitsSchema.nullable(),
  readings: z.array(readingSchema),
  readingsLeftOut: z
    .number()
    .int()
    .meta({ description: 'Number of readings that are left out here, because there are too many' }),
  events: z.array(eventSchema),
  boundaries: z.object({ start: boundarySchema, end: boundarySchema }).nullable(),
  segments: z.array(segmentSchema).meta({ description: 'For registers: their energies add up to the day' }),
  parts: z
    .array(partSchema)
    .meta({ description: 'For power: their energies add up to the day, rounded at its end' }),
  partsLeftOut: z.number().int(),
  intervals: z.array(intervalSchema),
  coverage: z.object({ coveredMilliseconds: z.number().int(), uncovered: z.array(span), text: z.string() }),
  flags: z.array(flagSchema),
  versions: z.array(versionSchema),
  corrections: z.array(correctionSchema),
  measuredWh: wh.nullable().meta({
    description: 'The measured energy, without energy that was set or estimated; null if there is none',
  }),
  sum: sumSchema,
});
export type ExplainedSource = z.output<typeof sourceSchema>;

const knownSchema = z.object({
  source: z.string(),
  table: z.string(),
  field: z.string(),
  as: asSchema,
  method,
  firstReading: time,
  lastReading: time,
});
export type Known = z.output<typeof knownSchema>;

const explainedDeviceSchema = z
  .object({
    rule: z.enum(['total_source', 'energy_role', 'one_role', 'several_roles', 'no_role']).meta({
      description:
        'total_source: its total source alone; energy_role: its sources with the role that energyRole names; one_role: its sources of their only role; several_roles: its sources of the first of production, consumption, grid_import, grid_export, battery_discharge, battery_charge; no_role: all of its sources',
    }),
    role: z
      .string()
      .nullable()
      .meta({ description: 'The role of the sources that count; null if the rule has no role' }),
    energyWh: wh
      .nullable()
      .meta({ description: 'null if a source that counts has no energy, or no source has' }),
    text: z.string().meta({ description: 'The rule as a sentence' }),
    sources: z.array(
      z.object({
        source: z.string(),
        role: z.string().nullable(),
        negativeRole: z.string().nullable(),
        counts: z.boolean(),
        part: z.enum(['whole', 'rise', 'fall']).meta({
          description: 'For a net register, only the intervals in which it rose or fell can count',
        }),
        energyWh: wh.nullable().meta({ description: 'Energy of that part' }),
        reason: z.string().meta({ description: 'Why it counts, or why not' }),
      }),
    ),
    flags: z.array(z.object({ flag: z.enum(['mixed', 'undeclared', 'incomplete']), reason: z.string() })),
  })
  .meta({
    description: 'How the energy of the device follows from its sources on this day, by their declarations',
  });
export type ExplainedDevice = z.output<typeof explainedDeviceSchema>;

export const nearestDaysSchema = z
  .object({ before: z.string().nullable(), after: z.string().nullable() })
  .meta({ description: 'The days with energy before and after this one' });

export const explainedSchema = z.object({
  workgroup: z.string(),
  timezone: z.string(),
  device: z.string(),
  name: z.string().nullable(),
  day: z.string(),
  start: time,
  end: time,
  hours: z.number(),
  outcome: z.enum(['explained', 'unknown_device', 'unknown_source', 'future', 'no_day', 'no_readings']),
  text: z.string().meta({ description: 'The result as a sentence' }),
  takenIn: z.object({
    batch: z.string().nullable(),
    batchesWaiting: z.number().int().meta({ description: 'Landed, but not rolled up yet' }),
  }),
  energyWh: wh.nullable().meta({ description: 'The reported energy of the device; null if there is none' }),
  countingSources: z.array(z.string()).meta({
    description:
      'The sources whose sum is the energy of the device on this day, by the rule in `wholeDevice`',
  }),
  wholeDevice: explainedDeviceSchema
    .nullable()
    .meta({ description: 'null if no source of the device is known' }),
  sources: z.array(sourceSchema),
  known: z.array(knownSchema).meta({ description: 'The series of the device with readings at any time' }),
  nearestDays: nearestDaysSchema,
});
export type Explained = z.output<typeof explainedSchema>;

export interface ExplainArgs {
  /** Its id, lower case. */
  device: string;
  day: string;
  /** Only this source; undefined: all sources of the device. */
  source?: string | undefined;
}
