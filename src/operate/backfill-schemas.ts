import { z } from 'zod';

/** The schemas of gaps and backfills. */

const instant = z.iso.datetime().nullable();
const count = z.number().int();

export const gapsSchema = z
  .object({
    gaps: z.array(
      z.object({
        id: count,
        reason: z.string().meta({ description: 'Why the stream could not be read, such as expired' }),
        from: instant.meta({ description: 'Store time of the last message before it' }),
        to: instant.meta({ description: 'Store time at which reading continued' }),
        detectedAt: z.iso.datetime(),
        available: z.enum(['all', 'part', 'nothing', 'unknown']).meta({
          description: 'What the upstream still has of it; nothing: it cannot be filled any more',
        }),
        note: z.string().nullable().meta({ description: 'What is missing, and why' }),
      }),
    ),
    total: count.meta({ description: 'The number of open gaps; the answer has the newest 200' }),
  })
  .meta({
    description: 'Open gaps of the stream',
    example: {
      gaps: [
        {
          id: 1,
          reason: 'expired',
          from: '2026-11-20T08:00:00.000Z',
          to: '2026-11-20T09:30:00.000Z',
          detectedAt: '2026-11-20T09:30:01.000Z',
          available: 'nothing',
          note: 'the upstream no longer has these messages',
        },
      ],
      total: 1,
    },
  });

const backfillStates = ['running', 'interrupted', 'done', 'cancelled'] as const;

const backfillSchema = z.object({
  id: count,
  source: z.string().meta({ description: 'stream, gaps or archive' }),
  from: instant,
  to: instant,
  table: z.string().nullable(),
  state: z.enum(backfillStates).meta({
    description: 'interrupted: it has not ended and nobody works on it; the same request continues it',
  }),
  note: z.string().nullable().meta({ description: 'Messages that were not available, and why' }),
  startedAt: z.iso.datetime(),
  updatedAt: z.iso.datetime(),
  pieces: count,
  piecesDone: count,
  gaps: count.meta({ description: 'Gaps that it fills' }),
  messagesExpected: count.nullable().meta({ description: 'Null if the upstream does not say' }),
  messagesLanded: count.meta({
    description: 'New messages; for the archive: messages that were read again',
  }),
  progress: z
    .object({ part: z.number(), messagesRead: count })
    .nullable()
    .meta({ description: 'Of the running backfill: the finished part from 0 to 1' }),
});
export type BackfillAnswer = z.output<typeof backfillSchema>;

const exampleBackfill: BackfillAnswer = {
  id: 3,
  source: 'stream',
  from: '2026-11-20T08:00:00.000Z',
  to: '2026-11-20T09:00:00.000Z',
  table: null,
  state: 'running',
  note: null,
  startedAt: '2026-11-20T10:00:00.000Z',
  updatedAt: '2026-11-20T10:00:04.000Z',
  pieces: 6,
  piecesDone: 2,
  gaps: 0,
  messagesExpected: 36_000,
  messagesLanded: 1_250,
  progress: { part: 0.34, messagesRead: 12_000 },
};
export const backfillsSchema = z
  .object({
    backfills: z.array(backfillSchema).meta({ description: 'Newest first' }),
    total: count,
  })
  .meta({ description: 'Backfills', example: { backfills: [exampleBackfill], total: 1 } });

export const startedBackfillSchema = backfillSchema.meta({
  description: 'The backfill that was started or continued',
  example: exampleBackfill,
});

export const backfillPlanSchema = z
  .object({
    source: z.string(),
    messages: count.nullable().meta({ description: 'Messages to read; null if the upstream does not say' }),
    requests: count.meta({ description: 'Least number of requests to the upstream' }),
    days: z.array(z.string()).meta({ description: 'The days (UTC) that it reads, the first 1,000' }),
    dayCount: count,
    pieces: z.array(
      z.object({
        from: z.iso.datetime(),
        to: z.iso.datetime(),
        gap: count.nullable(),
        messagesExpected: count.nullable(),
      }),
    ),
    notes: z.array(z.string()).meta({ description: 'Messages that are not available, and why' }),
    unfillable: z.array(z.object({ gap: count, note: z.string() })),
    quarantined: z
      .object({ kept: count, readable: count })
      .nullable()
      .meta({ description: 'For the archive: quarantined messages, and how many can be decoded now' }),
  })
  .meta({
    description: 'What a backfill would read',
    example: {
      source: 'stream',
      messages: 36_000,
      requests: 15,
      days: ['2026-11-20'],
      dayCount: 1,
      pieces: [
        {
          from: '2026-11-20T08:00:00.000Z',
          to: '2026-11-20T08:10:00.000Z',
          gap: null,
          messagesExpected: 6_000,
        },
      ],
      notes: [],
      unfillable: [],
      quarantined: null,
    },
  });

export const cancelledSchema = z
  .object({ id: count, state: z.literal('cancelled') })
  .meta({ description: 'Messages that have landed stay', example: { id: 3, state: 'cancelled' } });
