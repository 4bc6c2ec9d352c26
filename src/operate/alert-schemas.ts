import { z } from 'zod';
import { ALERTS_LISTED_MAX } from '../alerts/list-alerts.ts';
import { channelKinds } from '../config/alert-settings.ts';

const instant = z.iso.datetime();
const count = z.number().int();

/** The open alerts of a workgroup. */
export const alertListSchema = z
  .object({
    alerts: z
      .array(
        z.object({
          condition: z.string(),
          title: z.string(),
          subject: z
            .string()
            .meta({ description: 'What it is about, such as a device or a day of a device' }),
          text: z.string(),
          since: instant,
          known: z
            .boolean()
            .meta({ description: 'It was there when the alerts began, so no message was sent' }),
          snoozed: z.boolean(),
          seenBy: z.string().nullable(),
          sentTo: z.array(z.string()).meta({ description: 'Channels that have taken its message' }),
        }),
      )
      .meta({ description: `The most important first; at most ${ALERTS_LISTED_MAX}` }),
    total: count,
    unseen: count.meta({ description: 'Neither seen nor snoozed nor known' }),
    snoozes: z.array(z.object({ condition: z.string(), until: instant, by: z.string() })),
    channels: z.array(
      z.object({
        id: z.string(),
        kind: z.enum(channelKinds),
        lastSentAt: instant.nullable(),
        lastError: z.string().nullable().meta({ description: 'Of the last attempt, if it failed' }),
        waiting: z.boolean().meta({ description: 'A message is under way or will be tried again' }),
      }),
    ),
  })
  .meta({
    description: 'Open alerts',
    example: {
      alerts: [
        {
          condition: 'deviceSilent',
          title: 'Device silent',
          subject: '7c9e6679-7425-40de-944b-e07fc1f90ae7',
          text: 'garage has sent nothing since 2026-11-20T10:12Z',
          since: '2026-11-20T11:12:30.000Z',
          known: false,
          snoozed: false,
          seenBy: null,
          sentTo: ['ops'],
        },
      ],
      total: 1,
      unseen: 1,
      snoozes: [],
      channels: [
        {
          id: 'ops',
          kind: 'webhook',
          lastSentAt: '2026-11-20T11:12:30.000Z',
          lastError: null,
          waiting: false,
        },
      ],
    },
  });
