import { randomUUID } from 'node:crypto';
import type { ConditionName } from '../config/alert-settings.ts';
import { formatCount } from '../lib/format-count.ts';
import type { UtcMs } from '../lib/time.ts';
import { visibleText } from '../lib/visible-text.ts';
import type { AlertCondition } from './alert-condition-type.ts';
import { alertConditions, conditionNames } from './alert-conditions.ts';
import { type Alarm, type AlertMessage, type AlertState, isSnoozed } from './alert-state.ts';

/** Sentences of one message. The others are counted. */
export const LINES_MAX = 20;

/**
 * The next message of a channel: all alarms of one condition that were not sent to it yet, or all recoveries
 * of one condition. Undefined if everything was sent.
 */
export function composeMessage(
  state: AlertState,
  {
    channelId,
    workgroupId,
    nowMs,
    speaksForMachine,
  }: {
    channelId: string;
    workgroupId: string;
    nowMs: UtcMs;
    /**
     * False if another workgroup sends the alarm to this channel, because its condition is about the machine.
     */
    speaksForMachine: (alarm: Alarm) => boolean;
  },
): AlertMessage | undefined {
  const digests = state.channels[channelId]?.digestAtMs ?? {};
  for (const condition of conditionNames) {
    const { digestMs, isOfMachine }: AlertCondition<ConditionName> = alertConditions[condition];
    const own = state.alarms.filter((alarm) => alarm.condition === condition);
    const raised = own.filter(
      (alarm) =>
        alarm.endedAtMs === null &&
        !alarm.isKnown &&
        alarm.channels[channelId] === undefined &&
        (!isOfMachine || speaksForMachine(alarm)),
    );
    const isEarly =
      digestMs !== undefined && Math.abs(nowMs - (digests[condition] ?? Number.NEGATIVE_INFINITY)) < digestMs;
    const about = { workgroupId, condition, nowMs };
    if (raised.length > 0 && !isEarly && !isSnoozed(state, condition, nowMs))
      return messageOf('raised', raised, about);
    const ended = own.filter(
      ({ endedAtMs, channels }) => endedAtMs !== null && channels[channelId] === 'told',
    );
    if (ended.length > 0) return messageOf('recovered', ended, about);
  }
  return undefined;
}

function messageOf(
  kind: 'raised' | 'recovered',
  alarms: readonly Alarm[],
  { workgroupId, condition, nowMs }: { workgroupId: string; condition: ConditionName; nowMs: UtcMs },
): AlertMessage {
  const { title, isUrgent, isOfMachine }: AlertCondition<ConditionName> = alertConditions[condition];
  const count = alarms.length > 1 ? ` (${formatCount(alarms.length)})` : '';
  const lines = alarms.slice(0, LINES_MAX).map(({ text }) => visibleText(text));
  const more = alarms.length - lines.length;
  if (more > 0) lines.push(`and ${formatCount(more)} more; "wattline alerts list" shows them`);
  return {
    id: randomUUID(),
    kind,
    condition,
    subjects: alarms.map(({ subject }) => subject),
    title: `${isOfMachine ? '' : `${workgroupId}: `}${kind === 'recovered' ? 'over: ' : ''}${title}${count}`,
    text: lines.join('\n'),
    isUrgent: isUrgent === true && kind === 'raised',
    atMs: nowMs,
    attempts: 0,
  };
}

/** The state after the receiver has taken or refused the message of a channel. */
export function afterMessage(state: AlertState, channelId: string, outcome: 'told' | 'refused'): AlertState {
  const message = state.channels[channelId]?.message;
  if (!message) return state;
  const subjects = new Set(message.subjects);
  const alarms = state.alarms.flatMap((alarm): Alarm[] => {
    if (alarm.condition !== message.condition || !subjects.has(alarm.subject)) return [alarm];
    // An alarm that has begun again meanwhile is sent again.
    const { [channelId]: _, ...others } = alarm.channels;
    const channels = message.kind === 'raised' ? { ...others, [channelId]: outcome } : others;
    const isOver = alarm.endedAtMs !== null && !Object.values(channels).includes('told');
    return isOver ? [] : [{ ...alarm, channels }];
  });
  return { ...state, alarms };
}
