import { z } from 'zod';

/** The schemas of the state of a workgroup. */

export const workgroupStates = ['running', 'hibernated', 'stopped', 'failing', 'never run'] as const;
const healths = ['good', 'attention', 'bad'] as const;
/** The subject of a finding, which says where a page can show more. */
const findingSubjects = [
  'worker',
  'stage',
  'lag',
  'gap',
  'quarantine',
  'problem',
  'import',
  'export',
  'device',
  'input',
] as const;

const instant = z.iso.datetime().nullable();

const stageShape = {
  lastSuccessAt: instant,
  lastError: z
    .object({ at: z.iso.datetime(), message: z.string() })
    .nullable()
    .meta({ description: 'Set while the stage fails' }),
  failingSince: instant.meta({ description: 'First failure since the last success' }),
};

const findingSchema = z.object({
  severity: z
    .enum(['bad', 'attention', 'note'])
    .meta({ description: 'bad: data do not arrive; attention: a person should look; note: good to know' }),
  about: z.enum(findingSubjects),
  message: z.string().meta({ description: 'What is the matter and what to do, in one line' }),
  since: instant,
  path: z.string().nullable().meta({ description: 'The setting that it is about' }),
});

export const statusSchema = z
  .object({
    workgroup: z.string(),
    timezone: z.string(),
    state: z.enum(workgroupStates).meta({
      description:
        'running; hibernated: closed because there is nothing to do; failing: a stage fails, data cannot be opened, or an MQTT broker is not connected; stopped: its worker has ended, or has not written for half a minute; never run',
    }),
    health: z.enum(healths).meta({ description: 'The worst of all findings' }),
    reason: z.string().meta({ description: 'The worst finding in words, or that all is well' }),
    findings: z.array(findingSchema).meta({ description: 'Worst first, at most 100' }),
    updatedAt: instant.meta({ description: 'When a worker last wrote the state' }),
    stages: z.object({
      poll: z.object({
        ...stageShape,
        nextOffset: z.string().nullable().meta({ description: 'The next offset to read' }),
        transport: z.enum(['rest', 'socket']).nullable(),
        upToDate: z.boolean().nullable().meta({ description: 'True if the last read reached the head' }),
        lagMessages: z
          .number()
          .int()
          .nullable()
          .meta({ description: 'Messages that are not read yet; null if unknown' }),
        lagSeconds: z.number().nullable(),
      }),
      rollup: z.object({ ...stageShape, batchId: z.string().nullable() }),
      publish: z.object({ ...stageShape, generation: z.number().int().nullable() }),
      maintain: z.object(stageShape),
    }),
    lagSeconds: z
      .number()
      .nullable()
      .meta({ description: 'The largest delay of the stages; null if unknown' }),
    lastHour: z.object({ messages: z.number().int(), quarantined: z.number().int() }).nullable().meta({
      description: 'Messages that landed from the stream in the last hour; null if the data are closed',
    }),
    newestReadingAt: instant.meta({
      description: 'Event time of the newest reading that is not in the future',
    }),
    gaps: z.number().int(),
    quarantined: z.number().int(),
    storedMessages: z.number().int(),
    devices: z
      .object({
        online: z.number().int(),
        offline: z.number().int().meta({ description: 'Announced as offline, and not asleep' }),
        asleep: z
          .number()
          .int()
          .meta({ description: 'Went to sleep less than a day ago, which is not a fault' }),
        unknown: z.number().int().meta({ description: 'Nobody has reported their state' }),
      })
      .nullable(),
    troubles: z.array(
      z.object({
        stage: z.string(),
        state: z.string(),
        since: z.iso.datetime(),
        message: z.string(),
      }),
    ),
    problems: z
      .array(z.object({ path: z.string(), message: z.string() }))
      .meta({ description: 'Contradictions between data and configuration, by the path of the setting' }),
  })
  .meta({
    description: 'State of the pipeline of a workgroup',
    example: {
      workgroup: 'home',
      timezone: 'Europe/Paris',
      state: 'running',
      health: 'attention',
      reason: '1 gap of the stream could not be read',
      findings: [
        {
          severity: 'attention',
          about: 'gap',
          message: '1 gap of the stream could not be read',
          since: null,
          path: null,
        },
      ],
      updatedAt: '2026-11-20T08:00:01.000Z',
      stages: {
        poll: {
          lastSuccessAt: '2026-11-20T08:00:00.000Z',
          lastError: null,
          failingSince: null,
          nextOffset: '1152921504606847000',
          transport: 'rest',
          upToDate: true,
          lagMessages: 0,
          lagSeconds: 0,
        },
        rollup: {
          lastSuccessAt: '2026-11-20T08:00:00.300Z',
          lastError: null,
          failingSince: null,
          batchId: '17',
        },
        publish: {
          lastSuccessAt: '2026-11-20T08:00:00.900Z',
          lastError: null,
          failingSince: null,
          generation: 12,
        },
        maintain: { lastSuccessAt: '2026-11-20T07:50:00.000Z', lastError: null, failingSince: null },
      },
      lagSeconds: 0,
      lastHour: { messages: 3_600, quarantined: 0 },
      newestReadingAt: '2026-11-20T07:59:58.000Z',
      gaps: 1,
      quarantined: 0,
      storedMessages: 120_000,
      devices: { online: 12, offline: 0, asleep: 0, unknown: 0 },
      troubles: [],
      problems: [],
    },
  });
export type StatusAnswer = z.output<typeof statusSchema>;
export type StatusFinding = z.output<typeof findingSchema>;
