import type { AlertSettings, ConditionName, ConditionSettings } from '../config/alert-settings.ts';
import { channelsOf } from '../config/alert-settings.ts';
import { errorMessage, TransientError } from '../lib/errors.ts';
import { createInTurn } from '../lib/in-turn.ts';
import type { Logger } from '../lib/logger.ts';
import { type Clock, DAY_MS, elapsedOf, HOUR_MS, SECOND_MS } from '../lib/time.ts';
import { withTimeout } from '../lib/with-timeout.ts';
import { advanceAlarms, type Findings } from './advance-alarms.ts';
import type { AlertBook } from './alert-book.ts';
import type { AlertCondition, AlertFinding } from './alert-condition.ts';
import { alertConditions, conditionNames } from './alert-conditions.ts';
import type { AlertFacts } from './alert-facts.ts';
import type { Alarm, AlertMessage, AlertState, ChannelState } from './alert-state.ts';
import { afterMessage, composeMessage } from './compose-message.ts';
import type { SendAlert } from './send-alert.ts';

export interface WorkgroupWatchOptions {
  workgroupId: string;
  /** As of now. They can change between two calls. */
  settings(): AlertSettings;
  book: AlertBook;
  readFacts(): Promise<AlertFacts>;
  /** False once another worker may have the workgroup. Nothing is stored or sent then. */
  isOwner(): boolean;
  /** True if this workgroup, of all that this worker has, tells a channel what is about the machine. */
  speaksForMachine(channelId: string): boolean;
  send: SendAlert;
  /** Counts a finished attempt. */
  onSent?: (channelId: string, outcome: 'told' | 'refused' | 'failed') => void;
  clock: Clock;
  logger: Logger;
}

/** Judges the conditions of a workgroup, and tells its channels. */
export interface WorkgroupWatch {
  /** Looks once at the conditions, and starts what is to be sent. Does not wait for the channels. Never throws. */
  round(): Promise<void>;
  /** Changes the state by hand, durably. @throws TransientError if this worker cannot store it */
  change(by: (state: AlertState) => AlertState): Promise<AlertState>;
  state(): Promise<AlertState>;
  /** Waits until no message is under way. */
  settled(): Promise<void>;
  /** Ends what is under way, within some seconds, before another worker gets the workgroup. A later round begins again if it comes back. */
  leave(): Promise<void>;
}

/** A message under way has this long to end before the workgroup is given up. */
const LEAVE_MS = 2 * SECOND_MS;
const SEND_MS_MAX = 30 * SECOND_MS;
const RETRY_MS_MIN = 30 * SECOND_MS;
const RETRY_MS_MAX = HOUR_MS;
/** A message that could not be sent for this long is composed anew from what is true then. */
const MESSAGE_MS_MAX = DAY_MS;
/** Messages of one channel in one round. */
const ROUND_MESSAGES_MAX = 2 * conditionNames.length;

export function createWorkgroupWatch(options: WorkgroupWatchOptions): WorkgroupWatch {
  const { workgroupId, book, isOwner, send, onSent, clock, logger } = options;
  let { settings, channels, active } = settingsNow();
  /** Since when findings without an alarm have lasted, by the time that has passed. */
  let pending = new Map<string, number>();
  const retryAtMs = new Map<string, number>();
  const sending = new Map<string, Promise<void>>();
  let leaving = new AbortController();
  let isLeaving = false;
  let state: AlertState | undefined;
  let isUnreachable = false;
  const inTurn = createInTurn();

  function settingsNow() {
    const settings = options.settings();
    return {
      settings,
      channels: channelsOf(settings, workgroupId),
      active: conditionNames.filter((name) => settings.conditions[name] !== 'off'),
    };
  }

  /** Changes of the state run one after another. @returns the stored state; undefined if this worker has lost the workgroup */
  function update(change: (state: AlertState) => AlertState): Promise<AlertState | undefined> {
    return inTurn(async () => {
      if (!isOwner()) state = undefined;
      else state ??= withoutOldChannels(await book.claim());
      if (!state) return undefined;
      const changed = change(state);
      if (changed === state && !isUnreachable) return state;
      const saved = await book.save(changed);
      switch (saved.kind) {
        case 'saved':
          isUnreachable = false;
          state = changed;
          return state;
        case 'unreachable':
          // The lease says that nobody else has it. People must learn that the store does not answer.
          if (!isUnreachable) logger.warn({ workgroup: workgroupId, error: saved.why }, 'alerts.not-stored');
          isUnreachable = true;
          state = isOwner() ? changed : undefined;
          return state;
        case 'lost':
          logger.info({ workgroup: workgroupId }, 'alerts.taken-over');
          state = undefined;
          return undefined;
        default:
          return saved satisfies never;
      }
    });
  }

  function withoutOldChannels(stored: AlertState): AlertState {
    const known = new Set(channels.map(({ id }) => id));
    const only = <Value>(record: Record<string, Value>) =>
      Object.fromEntries(Object.entries(record).filter(([id]) => known.has(id)));
    return {
      ...stored,
      channels: only(stored.channels),
      alarms: stored.alarms.map((alarm) => ({ ...alarm, channels: only(alarm.channels) })),
    };
  }

  function judge(facts: AlertFacts): Findings {
    return new Map(
      active.flatMap((name): Array<[ConditionName, readonly AlertFinding[]]> => {
        const { find }: AlertCondition<ConditionName> = alertConditions[name];
        const found = find(facts, settings.conditions[name] as ConditionSettings);
        return found ? [[name, found]] : [];
      }),
    );
  }

  /** Notes since when the findings last. Those of conditions that were not judged stay. */
  function notePending(findings: Findings): void {
    const nowMs = elapsedOf(clock);
    const next = new Map<string, number>();
    for (const [condition, found] of findings)
      for (const { subject, isUnclear } of found) {
        const key = `${condition} ${subject}`;
        if (isUnclear && !pending.has(key)) continue;
        next.set(key, pending.get(key) ?? nowMs);
      }
    for (const [key, sinceMs] of pending)
      if (!findings.has(key.slice(0, key.indexOf(' ')) as ConditionName)) next.set(key, sinceMs);
    pending = next;
  }

  function hasLasted(condition: string, subject: string): boolean {
    const one = settings.conditions[condition as ConditionName];
    const sinceMs = pending.get(`${condition} ${subject}`);
    return one !== 'off' && sinceMs !== undefined && elapsedOf(clock) - sinceMs >= one.for;
  }

  async function tell(channelId: string): Promise<void> {
    for (let count = 0; count < ROUND_MESSAGES_MAX && !isLeaving; count++) {
      const channel = channels.find(({ id }) => id === channelId);
      if (!channel || elapsedOf(clock) < (retryAtMs.get(channel.id) ?? 0)) return;
      // Storing the attempt is the fence: an owner that was replaced ends here.
      const begun = await update((current) => beginAttempt(current, channel.id));
      const message = begun?.channels[channel.id]?.message;
      if (!message || isLeaving || !isOwner()) return;
      const signal = AbortSignal.any([leaving.signal, AbortSignal.timeout(SEND_MS_MAX)]);
      const outcome = await send(channel, message, workgroupId, signal);
      // Whether it has arrived is not known. The next owner sends it again with the same id.
      if (leaving.signal.aborted && outcome.kind !== 'told') return;
      const about = {
        workgroup: workgroupId,
        channel: channel.id,
        condition: message.condition,
        kind: message.kind,
      };
      if (outcome.kind === 'told') logger.info({ ...about, alarms: message.subjects.length }, 'alerts.sent');
      else logger.warn({ ...about, error: outcome.why }, `alerts.${outcome.kind}`);
      onSent?.(channel.id, outcome.kind);
      // It was removed meanwhile.
      if (!channels.some(({ id }) => id === channelId)) return;
      await update((current) => endAttempt(current, channel.id, outcome));
      if (outcome.kind !== 'failed') continue;
      const waitMs = Math.min(RETRY_MS_MAX, RETRY_MS_MIN * 2 ** (message.attempts - 1));
      retryAtMs.set(channel.id, elapsedOf(clock) + waitMs);
      return;
    }
  }

  function beginAttempt(current: AlertState, channelId: string): AlertState {
    const nowMs = clock.now();
    const { message: before, ...rest } = current.channels[channelId] ?? noChannelState;
    // Right after a start it is not known yet which workgroups this worker has.
    const speaksForMachine = ({ condition, subject }: Alarm) =>
      hasLasted(condition, subject) && options.speaksForMachine(channelId);
    const isOld = before !== undefined && Math.abs(nowMs - before.atMs) >= MESSAGE_MS_MAX;
    const message =
      before && !isOld
        ? before
        : composeMessage(current, { channelId, workgroupId, nowMs, speaksForMachine });
    if (!message) return before ? withChannel(current, channelId, rest) : current;
    return withChannel(current, channelId, {
      ...rest,
      message: { ...message, attempts: message.attempts + 1 },
    });
  }

  function endAttempt(
    current: AlertState,
    channelId: string,
    outcome: Awaited<ReturnType<SendAlert>>,
  ): AlertState {
    const nowMs = clock.now();
    const before = current.channels[channelId] ?? noChannelState;
    if (outcome.kind === 'failed')
      return withChannel(current, channelId, { ...before, lastError: { atMs: nowMs, message: outcome.why } });
    const { message, lastError: _, ...rest } = before;
    return withChannel(afterMessage(current, channelId, outcome.kind), channelId, {
      ...rest,
      ...(outcome.kind === 'told'
        ? { lastSentAtMs: nowMs }
        : { lastError: { atMs: nowMs, message: outcome.why } }),
      digestAtMs: withDigest(rest.digestAtMs, message, nowMs),
    });
  }

  return {
    async round() {
      try {
        if (isLeaving || !isOwner()) {
          if (!isLeaving) state = undefined;
          return;
        }
        if (options.settings() !== settings) {
          ({ settings, channels, active } = settingsNow());
          await update(withoutOldChannels);
        }
        const findings = judge(await options.readFacts());
        notePending(findings);
        const nowMs = clock.now();
        const updated = await update((current) =>
          advanceAlarms(current, findings, { active, hasLasted, nowMs }),
        );
        if (!updated || isLeaving) return;
        for (const { id: channel } of channels) {
          if (sending.has(channel)) continue;
          const work = tell(channel)
            .catch((error: unknown) => {
              logger.warn({ workgroup: workgroupId, channel, error: errorMessage(error) }, 'alerts.failed');
            })
            .finally(() => sending.delete(channel));
          sending.set(channel, work);
        }
      } catch (error) {
        logger.warn({ workgroup: workgroupId, error: errorMessage(error) }, 'alerts.not-judged');
      }
    },
    async change(by) {
      const changed = await update(by);
      if (changed && !isUnreachable) return changed;
      throw new TransientError('AlertsNotStored', 'this cannot be stored now; try again in a moment');
    },
    state: async () => state ?? book.read(),
    async settled() {
      await Promise.all(sending.values());
    },
    async leave() {
      isLeaving = true;
      const work = Promise.all([...sending.values(), inTurn(async () => undefined)]);
      if ((await withTimeout(work, LEAVE_MS)) === 'late') leaving.abort();
      await withTimeout(work, LEAVE_MS);
      state = undefined;
      leaving = new AbortController();
      isLeaving = false;
    },
  };
}

const noChannelState: ChannelState = { digestAtMs: {} };

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
