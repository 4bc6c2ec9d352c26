import { z } from 'zod';
import { DAY_MS, MINUTE_MS, SECOND_MS } from '../lib/time.ts';
import { mailRecipients } from './mail-settings.ts';
import { refuseTwice } from './refuse-twice.ts';
import { serverUrl } from './server-url.ts';
import { duration } from './setting-types.ts';
import { webhookSchema } from './webhook-settings.ts';

const CHANNELS_MAX = 20;

/** How long a condition has to last before its alert. */
const lasting = (defaultMs: number) => duration({ minMs: 0, maxMs: 7 * DAY_MS }).default(defaultMs);
const time = (defaultMs: number, minMs = 1_000) => duration({ minMs, maxMs: 30 * DAY_MS }).default(defaultMs);
const share = (defaultShare: number) =>
  z.number().gt(0, 'must be above 0').max(1, 'must be at most 1, which is 100 %').default(defaultShare);

const offOr = <Settings extends z.ZodType>(settings: Settings, example: string) =>
  z.union([z.literal('off'), settings], { error: `must be "off" or ${example}` }).prefault({} as never);
/** `off`, or the limit and the time that a condition has to last. */
const condition = <Limit extends z.ZodType>(limit: Limit, lastsMs = 0) =>
  offOr(z.strictObject({ limit, for: lasting(lastsMs) }), '{ limit: ..., for: 10m }');
const plain = (lastsMs = 0) => offOr(z.strictObject({ for: lasting(lastsMs) }), '{ for: 10m }');

/** The flags of days that can be reported. */
export const alertFlags = [
  'contradicted',
  'rebase',
  'substituted',
  'reset',
  'spike',
  'glitch',
  'incomplete',
] as const;

const conditionsSchema = z
  .strictObject({
    /** Time without success of a stage of the pipeline. */
    stageLate: condition(time(5 * MINUTE_MS)),
    /** Age of the last message that was read, while there are newer ones. */
    behind: condition(time(5 * MINUTE_MS), 10 * MINUTE_MS),
    /** The same, as a share of `stream.retention`. */
    dataLossAhead: condition(share(0.5)),
    gap: plain(),
    /**
     * Time without data of a device. The time of the newest data is known only to the minute. With a shorter
     * time, devices that send would count as silent.
     */
    deviceSilent: condition(time(60 * MINUTE_MS, 2 * MINUTE_MS)),
    /** The least number of other devices with energy. */
    deviceIdle: condition(z.number().int().min(1).max(10_000).default(2)),
    /** Covered share of a final day. */
    coverage: condition(share(0.9)),
    /** Flags of days. */
    dayFlagged: condition(
      z
        .array(z.enum(alertFlags, { error: `must be of ${alertFlags.join(', ')}` }))
        .min(1)
        .default(['contradicted', 'rebase', 'substituted']),
    ),
    /** Share of the messages of the last hour. */
    quarantine: condition(share(0.01)),
    dayRestated: plain(),
    exportOutdated: plain(),
    /** Time since a file was due. */
    exportUndelivered: condition(time(60 * MINUTE_MS)),
    /** Share of the budget that is missing, month to date. */
    budget: condition(share(0.1)),
    /** Free share of the disk of dataDir. */
    disk: condition(share(0.1), 5 * MINUTE_MS),
    /** Time without connection to a broker. */
    inputDisconnected: condition(time(5 * MINUTE_MS)),
  })
  .prefault({});

const ntfySchema = z.strictObject({
  /** The address of the topic, such as "https://ntfy.sh/my-topic". */
  url: serverUrl,
  token: z.string().min(1).optional(),
});

/** Each channel has one of them. */
export const channelKinds = ['webhook', 'ntfy', 'email'] as const;

const channelSchema = z
  .strictObject({
    id: z
      .string()
      .regex(/^[a-z0-9][a-z0-9_-]{0,63}$/, 'must have only lower-case letters, digits, - and _, at most 64'),
    webhook: webhookSchema.optional(),
    ntfy: ntfySchema.optional(),
    /** By the server of `mail`. */
    email: z.strictObject({ to: mailRecipients }).optional(),
    /** Only these workgroups. Default: all. */
    workgroups: z.array(z.string()).min(1, 'must name a workgroup, or be left out').optional(),
  })
  .superRefine((channel, context) => {
    if (channelKinds.filter((kind) => channel[kind] !== undefined).length !== 1)
      context.addIssue({ code: 'custom', message: `must have one of ${channelKinds.join(', ')}` });
  });

/** Alerts without a monitoring system. Without channels nothing is judged. */
export const alertsSchema = z
  .strictObject({
    channels: z
      .array(channelSchema)
      .max(CHANNELS_MAX)
      .default([])
      .superRefine((channels, context) => refuseTwice(channels, context, 'id', ({ id }) => id)),
    /** How often the conditions are judged. */
    checkEvery: duration({ minMs: SECOND_MS, maxMs: 10 * MINUTE_MS }).default(30 * SECOND_MS),
    conditions: conditionsSchema,
  })
  .prefault({});

export type AlertSettings = z.output<typeof alertsSchema>;
export type AlertChannel = AlertSettings['channels'][number];
type ChannelKind = (typeof channelKinds)[number];
/** The kind of a channel, and the settings of that kind. */
export type ChannelOfKind = {
  [Kind in ChannelKind]: { kind: Kind; to: NonNullable<AlertChannel[Kind]> };
}[ChannelKind];

export function channelOfKind(channel: Pick<AlertChannel, ChannelKind>): ChannelOfKind {
  const kind = channelKinds.find((one) => channel[one] !== undefined)!;
  return { kind, to: channel[kind] } as ChannelOfKind;
}

export type ConditionName = keyof AlertSettings['conditions'];
/** The settings of a condition that is not off. */
export type ConditionSettings<Name extends ConditionName = ConditionName> = Exclude<
  AlertSettings['conditions'][Name],
  'off'
>;

/** The channels that receive the alerts of a workgroup. */
export function channelsOf(
  { channels }: Pick<AlertSettings, 'channels'>,
  workgroupId: string,
): AlertChannel[] {
  return channels.filter(({ workgroups }) => workgroups?.includes(workgroupId) ?? true);
}

/**
 * Checks that a channel that sends mails has a server. Also called with settings that have other problems.
 */
export function refuseAlertsWithoutServer(
  { alerts, mail }: { alerts?: { channels?: unknown } | undefined; mail?: unknown },
  context: z.RefinementCtx,
): void {
  if (mail !== undefined) return;
  const channels = alerts?.channels;
  for (const [index, one] of (Array.isArray(channels) ? channels : []).entries())
    if (one?.email !== undefined)
      context.addIssue({
        code: 'custom',
        path: ['alerts', 'channels', index, 'email'],
        message: 'needs the mail server: configure mail',
      });
}
