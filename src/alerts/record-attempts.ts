import type { ConditionName } from '../config/alert-settings.ts';
import { DAY_MS, type UtcMs } from '../lib/time.ts';
import type { AlertCondition } from './alert-condition-type.ts';
import { alertConditions } from './alert-conditions.ts';
import type { AlertMessage, AlertState, ChannelState } from './alert-state.ts';
import { afterMessage, composeMessage } from './compose-message.ts';
import type { SendAlert } from './send-alert.ts';

/** A message that could not be sent for this long is composed again from the facts at that time. */
const MESSAGE_MS_MAX = DAY_MS;
const noChannelState: ChannelState = { digestAtMs: {} };

/**
 * The state with the message that a channel gets next, and one more attempt of it. The same state if there is
 * nothing to say.
 */
export function beginAttempt(state: AlertState, asked: Parameters<typeof composeMessage>[1]): AlertState {
  const { channelId, nowMs } = asked;
  const { message: before, ...rest } = state.channels[channelId] ?? noChannelState;
  const isOld = before !== undefined && Math.abs(nowMs - before.atMs) >= MESSAGE_MS_MAX;
  const message = before && !isOld ? before : composeMessage(state, asked);
  if (!message) return before ? withChannel(state, channelId, rest) : state;
  return withChannel(state, channelId, {
    ...rest,
    message: { ...message, attempts: message.attempts + 1 },
  });
}

/** The state after an attempt. A message that has failed stays for the next one. */
export function endAttempt(
  state: AlertState,
  channelId: string,
  outcome: Awaited<ReturnType<SendAlert>>,
  nowMs: UtcMs,
): AlertState {
  const before = state.channels[channelId] ?? noChannelState;
  if (outcome.kind === 'failed')
    return withChannel(state, channelId, { ...before, lastError: { atMs: nowMs, message: outcome.why } });
  const { message, lastError: _, ...rest } = before;
  return withChannel(afterMessage(state, channelId, outcome.kind), channelId, {
    ...rest,
    ...(outcome.kind === 'told'
      ? { lastSentAtMs: nowMs }
      : { lastError: { atMs: nowMs, message: outcome.why } }),
    digestAtMs: withDigest(rest.digestAtMs, message, nowMs),
  });
}

function withChannel(state: AlertState, channelId: string, channel: ChannelState): AlertState {
  return { ...state, channels: { ...state.channels, [channelId]: channel } };
}

function withDigest(
  digests: Record<string, number>,
  message: AlertMessage | undefined,
  nowMs: number,
): Record<string, number> {
  const name = message?.condition as ConditionName | undefined;
  const condition: AlertCondition<ConditionName> | undefined = name && alertConditions[name];
  return condition?.digestMs !== undefined ? { ...digests, [name!]: nowMs } : digests;
}
