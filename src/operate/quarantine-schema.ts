import { z } from 'zod';

const count = z.number().int();
const instant = z.iso.datetime().nullable();

const sampleSchema = z.object({
  device: z.string().nullable(),
  source: z.string().nullable(),
  field: z.string().nullable(),
  eventTime: instant,
  detail: z.string().nullable().meta({ description: 'Problem of the message' }),
  text: z.string().nullable().meta({
    description:
      'The value as received; of a message its first bytes, as text if they are text, otherwise as hexadecimal digits',
  }),
  encoding: z.enum(['text', 'hex']),
  bytes: count.nullable().meta({ description: 'Length of the message' }),
});

const setAsideSchema = z.object({
  device: z.string(),
  source: z.string(),
  field: z.string(),
  since: z.iso.datetime(),
  error: z.string(),
});

/** The schema of the quarantine. */
export const quarantineSchema = z
  .object({
    total: count,
    groups: z
      .array(
        z.object({
          kind: z.enum(['message', 'reading']).meta({
            description: 'message: a whole message that could not be decoded or landed; reading: one value',
          }),
          reason: z.string(),
          count,
          devices: count.meta({ description: 'Number of devices, if the messages name any' }),
          firstAt: instant.meta({
            description: 'Messages: when they were set aside. Readings: their event time',
          }),
          lastAt: instant,
          samples: z.array(sampleSchema),
        }),
      )
      .meta({ description: 'By reason, the most frequent first' }),
    setAside: z.array(setAsideSchema).meta({
      description: 'Series whose roll-up fails, the first 200; the others are rolled up without them',
    }),
  })
  .meta({
    description: 'Messages and readings that were received and not used',
    example: {
      total: 3,
      groups: [
        {
          kind: 'reading',
          reason: 'not_a_number',
          count: 3,
          devices: 1,
          firstAt: '2026-11-20T08:00:00.000Z',
          lastAt: '2026-11-20T08:10:00.000Z',
          samples: [
            {
              device: '0b0e7c1e-0000-4000-8000-000000000001',
              source: 'default',
              field: 'energy',
              eventTime: '2026-11-20T08:00:00.000Z',
              detail: null,
              text: '"n/a"',
              encoding: 'text',
              bytes: null,
            },
          ],
        },
      ],
      setAside: [],
    },
  });

export const retrySchema = z
  .object({
    series: count.meta({ description: 'Series that are computed again' }),
    messages: count.meta({ description: 'Quarantined messages that can be decoded now' }),
    backfill: count.nullable().meta({ description: 'The backfill that reads them; null if there are none' }),
  })
  .meta({ description: 'What is tried again', example: { series: 1, messages: 0, backfill: null } });
