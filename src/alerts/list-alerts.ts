import {
  type AlertChannel,
  type ChannelOfKind,
  type ConditionName,
  channelOfKind,
} from '../config/alert-settings.ts';
import { formatInstant, type UtcMs } from '../lib/time.ts';
import { alertConditions, conditionNames } from './alert-conditions.ts';
import { type AlertState, emptyAlertState, isSnoozed, isSnoozing } from './alert-state.ts';

/** Open alerts of one answer. */
export const ALERTS_LISTED_MAX = 1_000;

export interface AlertPage {
  /** Default: 0. */
  offset?: number | undefined;
  /** Default: 100. */
  limit?: number | undefined;
}

export interface ListedAlert {
  condition: string;
  title: string;
  subject: string;
  text: string;
  since: string;
  /** True if the problem existed before the alerts began. Then no channel got a message. */
  known: boolean;
  snoozed: boolean;
  seenBy: string | null;
  /** Channels that have taken its message. */
  sentTo: string[];
}

export interface AlertList {
  /** The most important first, and the newest first within a condition. */
  alerts: ListedAlert[];
  /** All open alerts. */
  total: number;
  /** Without alerts that were seen, are snoozed, or were there before. */
  unseen: number;
  snoozes: Array<{ condition: string; until: string; by: string }>;
  channels: Array<{
    id: string;
    kind: ChannelOfKind['kind'];
    lastSentAt: string | null;
    lastError: string | null;
    /** A message is under way or will be tried again. */
    waiting: boolean;
  }>;
}

/** @param state undefined if nothing is judged, because there is no channel */
export function listAlerts(
  state: AlertState = emptyAlertState,
  { page, channels, nowMs }: { page: AlertPage; channels: readonly AlertChannel[]; nowMs: UtcMs },
): AlertList {
  const { offset = 0, limit = 100 } = page;
  const open = state.alarms
    .filter(({ endedAtMs }) => endedAtMs === null)
    .toSorted(
      (a, b) =>
        rankOf(a.condition) - rankOf(b.condition) ||
        b.openedAtMs - a.openedAtMs ||
        (a.subject < b.subject ? -1 : 1),
    );
  const isUnseen = (alarm: (typeof open)[number]) =>
    !alarm.seen && !alarm.isKnown && !isSnoozed(state, alarm.condition, nowMs);
  return {
    alerts: open.slice(offset, offset + Math.min(limit, ALERTS_LISTED_MAX)).map((alarm) => ({
      condition: alarm.condition,
      title: alertConditions[alarm.condition as ConditionName]?.title ?? alarm.condition,
      subject: alarm.subject,
      text: alarm.text,
      since: formatInstant(alarm.openedAtMs),
      known: alarm.isKnown === true,
      snoozed: isSnoozed(state, alarm.condition, nowMs),
      seenBy: alarm.seen?.by ?? null,
      sentTo: Object.entries(alarm.channels).flatMap(([id, outcome]) => (outcome === 'told' ? [id] : [])),
    })),
    total: open.length,
    unseen: open.filter(isUnseen).length,
    snoozes: state.snoozes
      .filter((snooze) => isSnoozing(snooze, nowMs))
      .map(({ condition, atMs, forMs, by }) => ({ condition, until: formatInstant(atMs + forMs), by })),
    channels: channels.map((channel) => {
      const { id } = channel;
      const channelState = state.channels[id];
      return {
        id,
        kind: channelOfKind(channel).kind,
        lastSentAt:
          channelState?.lastSentAtMs === undefined ? null : formatInstant(channelState.lastSentAtMs),
        lastError: channelState?.lastError?.message ?? null,
        waiting: channelState?.message !== undefined,
      };
    }),
  };
}

/** The place of a condition in the list. A condition that this version does not know comes last. */
function rankOf(condition: string): number {
  const rank = (conditionNames as string[]).indexOf(condition);
  return rank < 0 ? conditionNames.length : rank;
}
