import { z } from 'zod';

/** A condition that holds for one subject, or that has held for it and has ended. */
const alarmSchema = z.object({
  condition: z.string(),
  /** Its subject: a device, a day of a device, a stage. Stable, so that the same problem is one alarm. */
  subject: z.string(),
  /** One sentence for people. */
  text: z.string(),
  openedAtMs: z.number(),
  /** Null while the condition holds. An ended alarm stays until its recovery was sent. */
  endedAtMs: z.number().nullable(),
  /** True if the problem existed before the alerts of the workgroup began. Then no message is sent. */
  isKnown: z.literal(true).optional(),
  /** After this time the alarm ends without a message, because its subject is not judged any more. */
  lastsUntilMs: z.number().optional(),
  /**
   * By channel: the receiver has taken the message (`told`), or has refused it. Channels without a message
   * are left out.
   */
  channels: z.record(z.string(), z.enum(['told', 'refused'])),
  seen: z.object({ by: z.string(), atMs: z.number() }).optional(),
});
export type Alarm = z.output<typeof alarmSchema>;

/** A message of one condition. It stays the same at each attempt, so the receiver knows it by its id. */
const alertMessageSchema = z.object({
  id: z.string(),
  kind: z.enum(['raised', 'recovered', 'test']),
  condition: z.string(),
  /** The alarms in it. */
  subjects: z.array(z.string()),
  title: z.string(),
  text: z.string(),
  isUrgent: z.boolean(),
  atMs: z.number(),
  attempts: z.number(),
});
export type AlertMessage = z.output<typeof alertMessageSchema>;

const channelStateSchema = z.object({
  /** The message that is under way, or will be tried again. */
  message: alertMessageSchema.optional(),
  lastSentAtMs: z.number().optional(),
  lastError: z.object({ atMs: z.number(), message: z.string() }).optional(),
  /** By condition with a digest: when the last one was composed. */
  digestAtMs: z.record(z.string(), z.number()).default({}),
});
export type ChannelState = z.output<typeof channelStateSchema>;

const snoozeSchema = z.object({
  /** A condition, or `all`. */
  condition: z.string(),
  atMs: z.number(),
  forMs: z.number(),
  by: z.string(),
});

/** The alerts of a workgroup, as they are stored. */
export const alertStateSchema = z.object({
  alarms: z.array(alarmSchema),
  channels: z.record(z.string(), channelStateSchema),
  snoozes: z.array(snoozeSchema),
  /** Conditions that were judged at least once. */
  judged: z.array(z.string()),
});
export type AlertState = z.output<typeof alertStateSchema>;

export const emptyAlertState: AlertState = { alarms: [], channels: {}, snoozes: [], judged: [] };

/** True until a snooze ends. A clock that was set back by more than its duration ends it, too. */
export function isSnoozing({ atMs, forMs }: { atMs: number; forMs: number }, nowMs: number): boolean {
  return Math.abs(nowMs - atMs) < forMs;
}

/** True while nothing of a condition is sent. */
export function isSnoozed({ snoozes }: AlertState, condition: string, nowMs: number): boolean {
  return snoozes.some(
    (snooze) => (snooze.condition === condition || snooze.condition === 'all') && isSnoozing(snooze, nowMs),
  );
}
