import { z } from 'zod';
import { destinationKinds } from '../config/export-settings.ts';

const count = z.number().int();

const exportRunSchema = z.object({
  name: z.string().meta({ description: 'The period, and the revision if there are several' }),
  period: z.string(),
  startDay: z.string(),
  endDay: z.string(),
  revision: count,
  reason: z.enum(['schedule', 'by hand', 'correction']),
  state: z.enum(['planned', 'waiting', 'delivered', 'failed']).meta({
    description:
      'planned: due, without a file; waiting: the file waits for delivery; failed: a person has to change something',
  }),
  plannedAt: z.iso.datetime(),
  file: z
    .object({
      name: z.string(),
      rows: count,
      bytes: count,
      energyWh: z.number().nullable().meta({ description: 'Null if no row has energy, which is not zero' }),
      generation: count,
      sha256: z.string(),
    })
    .nullable(),
  attempts: count,
  nextAttemptAt: z.iso.datetime().nullable(),
  lastError: z.object({ at: z.iso.datetime(), message: z.string() }).nullable(),
  deliveredAt: z.iso.datetime().nullable(),
  outdated: z
    .object({
      since: z.iso.datetime(),
      dayCount: count,
      days: z
        .array(z.object({ day: z.string(), beforeWh: z.number().nullable(), afterWh: z.number().nullable() }))
        .meta({ description: 'The first 50 changed days' }),
    })
    .nullable()
    .meta({ description: 'Set if the data have changed after delivery' }),
});
export type ExportRunAnswer = z.output<typeof exportRunSchema>;

const exampleRun: ExportRunAnswer = {
  name: '2026-10',
  period: '2026-10',
  startDay: '2026-10-01',
  endDay: '2026-10-31',
  revision: 1,
  reason: 'schedule',
  state: 'delivered',
  plannedAt: '2026-11-03T05:00:00.000Z',
  file: {
    name: 'billing_2026-10.csv',
    rows: 124,
    bytes: 9_120,
    energyWh: 3_120_400,
    generation: 812,
    sha256: '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
  },
  attempts: 1,
  nextAttemptAt: null,
  lastError: null,
  deliveredAt: '2026-11-03T05:00:02.000Z',
  outdated: null,
};

export const exportListSchema = z
  .object({
    exports: z.array(
      z.object({
        id: z.string(),
        report: z.string(),
        range: z.string(),
        format: z.string(),
        destination: z.enum(destinationKinds),
        schedule: z.string().nullable().meta({ description: 'Cron; null: by hand' }),
        timezone: z.string().meta({ description: 'Time zone of the schedule' }),
        nextAt: z.iso.datetime().nullable(),
        pending: count.meta({ description: 'Files that are due or wait for delivery' }),
        failed: count,
        outdated: count.meta({ description: 'Files whose data have changed after delivery' }),
        outdatedWh: z.number().meta({ description: 'The difference of their energy, Wh' }),
        runs: z.array(exportRunSchema).meta({ description: 'Newest first, at most 20' }),
        runCount: count,
      }),
    ),
  })
  .meta({
    description: 'Configured exports and their runs',
    example: {
      exports: [
        {
          id: 'billing',
          report: 'daily-energy',
          range: 'last_month',
          format: 'csv',
          destination: 'folder',
          schedule: '0 6 3 * *',
          timezone: 'Europe/Paris',
          nextAt: '2026-12-03T05:00:00.000Z',
          pending: 0,
          failed: 0,
          outdated: 0,
          outdatedWh: 0,
          runs: [exampleRun],
          runCount: 1,
        },
      ],
    },
  });

export const exportStartedSchema = z
  .object({
    outcome: z.enum(['delivered', 'already-delivered', 'running']).meta({
      description: 'running: it takes longer than 20 s; the list of exports shows its state',
    }),
    run: exportRunSchema.nullable(),
  })
  .meta({ description: 'A run by hand', example: { outcome: 'delivered', run: exampleRun } });
