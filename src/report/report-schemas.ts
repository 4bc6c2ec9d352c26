import { z } from 'zod';
import { energyMethods } from '../config/energy-stream.ts';
import { wholeWh } from '../contract/whole-wh.ts';
import { dayStatuses } from '../rollup/day-statuses.ts';
import { deviceStates } from './device-states.ts';

/** The schemas of the answers of the report. */

const day = z.string().meta({ description: 'Day, YYYY-MM-DD' });
const series = z.string().meta({ description: '`<deviceId>` or `<deviceId>.<source>`' });
const device = '0b0e7c1e-0000-4000-8000-000000000001';

export const dailyEnergySchema = z.record(day, z.record(series, wholeWh)).meta({
  description: 'Energy in Wh by day and series; every day of the range has a key',
  example: { '2026-11-20': { [device]: 12_345 } },
});

const dayDetailsSchema = z.object({
  energyWh: wholeWh.nullable().meta({
    description:
      'Wh; null and flagged incomplete for a device if only sources that do not count have energy on the day',
  }),
  methods: z.array(z.enum(energyMethods)).meta({
    description: 'The methods; several only if the sources of a device differ',
  }),
  flags: z.array(z.string()).meta({
    description:
      'Quality flags, of any source; for a device also mixed (one of several roles is used) and undeclared (a source without a role)',
  }),
  coverage: z.number().meta({
    description: 'Share of the day (0 to 1) that measurements cover; for a device, the lowest of its sources',
  }),
  status: z.enum(dayStatuses).meta({
    description: 'provisional: can still change; final; restated: has changed since it was final',
  }),
  version: z.number().int().meta({
    description: 'Grows with each new version of the day; for a device, the highest of its sources',
  }),
  computedAt: z.iso
    .datetime()
    .meta({ description: 'When this version was computed; for a device, the latest' }),
});
export const dailyEnergyDetailsSchema = z.record(day, z.record(series, dayDetailsSchema)).meta({
  description: 'Energy in Wh by day and series with its quality; every day of the range has a key',
  example: {
    '2026-11-19': {},
    '2026-11-20': {
      [device]: {
        energyWh: 12_345,
        methods: ['total_energy'],
        flags: ['reset'],
        coverage: 0.9979,
        status: 'final',
        version: 2,
        computedAt: '2026-11-21T00:00:05.120Z',
      },
    },
  },
});

const dayProfileSchema = z.object({
  start: z.iso.datetime().meta({ description: "First instant of the day in the workgroup's time zone" }),
  intervals: z
    .number()
    .int()
    .meta({ description: '15-minute intervals of the day: 96, or 92 or 100 if the clock changes' }),
  energyWh: z.record(series, z.array(wholeWh.nullable())).meta({
    description:
      'Wh of each interval in order; null if no measurement covers it. They add up to the Wh of the day exactly',
  }),
});
export const intervalEnergySchema = z.record(day, dayProfileSchema).meta({
  description: '15-minute profiles by day; every day of the range has a key',
  example: {
    '2026-11-20': {
      start: '2026-11-19T23:00:00.000Z',
      intervals: 96,
      energyWh: { [device]: [...Array.from({ length: 28 }, () => 0), 12, 120, 250, null] },
    },
  },
});

const instant = z.string().nullable();
export const deviceStatusSchema = z
  .record(
    z.string().meta({ description: '`<deviceId>`' }),
    z.object({
      name: z.string().optional().meta({ description: 'As it is configured' }),
      state: z.enum(deviceStates).meta({ description: '`unknown` if no message has named it' }),
      since: instant.meta({ description: 'When the state changed' }),
      reason: z.string().nullable().meta({
        description:
          'The reason, if there is one: the stream service sends `timeout` for a silent device and `data received` for one that sends again',
      }),
      lastSeen: instant.meta({ description: 'Minute in which its newest data was stored' }),
    }),
  )
  .meta({
    description: 'State of each device, by id',
    example: {
      [device]: {
        name: 'garage',
        state: 'offline',
        since: '2026-11-20T17:05:00.000Z',
        reason: 'timeout',
        lastSeen: '2026-11-20T16:50:00.000Z',
      },
    },
  });

export const errorSchema = z.object({
  error: z.string().meta({ description: 'Code of the error, such as InvalidRequest' }),
  message: z.string().meta({ description: 'What is wrong, and what to do' }),
  status: z.int().min(400).max(599).meta({ description: 'The status of the answer' }),
  retryable: z.boolean().meta({ description: 'True if the same request may succeed later' }),
  parameter: z.string().optional().meta({ description: 'The parameter that is wrong' }),
});
const errorAnswers = {
  400: errorSchema.meta({
    description:
      'A parameter is unknown, empty, given twice, or has a value that cannot be used; `parameter` names it, and the message suggests the right one',
  }),
  401: errorSchema,
  403: errorSchema,
  429: errorSchema,
  503: errorSchema,
};

/** The answers of a report with an entity tag. */
export function taggedAnswers<Answer extends z.ZodType>(answer: Answer) {
  return {
    200: answer,
    304: z.null().meta({ description: 'Nothing has changed since the answer with this ETag' }),
    ...errorAnswers,
  };
}
