import type { AlertSettings, ConditionName, ConditionSettings } from '../config/alert-settings.ts';
import { channelsOf } from '../config/alert-settings.ts';
import { errorMessage, TransientError } from '../lib/errors.ts';
import { growingWaitMs } from '../lib/growing-wait.ts';
import type { Logger } from '../lib/logger.ts';
import { type Clock, elapsedOf, HOUR_MS, SECOND_MS } from '../lib/time.ts';
import { withTimeout } from '../lib/with-timeout.ts';
import { advanceAlarms, type Findings } from './advance-alarms.ts';
import type { AlertBook } from './alert-book.ts';
import type { AlertCondition, AlertFinding } from './alert-condition-type.ts';
import { alertConditions, conditionNames } from './alert-conditions.ts';
import type { AlertFacts } from './alert-facts.ts';
import type { Alarm, AlertState } from './alert-state.ts';
import { createLastingFindings } from './lasting-findings.ts';
import { beginAttempt, endAttempt } from './message-attempts.ts';
import { createOwnedAlertState } from './owned-alert-state.ts';
import type { SendAlert } from './send-alert.ts';

export interface WorkgroupWatchOptions {
  workgroupId: string;
  /** As of now. They can change between two calls. */
  settings(): AlertSettings;
  book: AlertBook;
  readFacts(): Promise<AlertFacts>;
  /** False once another worker may have the workgroup. Nothing is stored or sent then. */
  isOwner(): boolean;
  /**
   * True if this workgroup sends alerts about the machine to a channel. One of all workgroups that workers of
   * the data folder have does.
   */
  speaksForMachine(channelId: string): boolean;
  send: SendAlert;
  /** Counts a finished attempt. */
  onSent?: (channelId: string, outcome: 'told' | 'refused' | 'failed') => void;
  clock: Clock;
  logger: Logger;
}

/** Judges the conditions of a workgroup, and sends messages to its channels. */
export interface WorkgroupWatch {
  /**
   * Looks once at the conditions, and starts to send the messages. Does not wait for the channels. Never
   * throws.
   */
  round(): Promise<void>;
  /** Changes the state by hand, durably. @throws TransientError if this worker cannot store it */
  change(by: (state: AlertState) => AlertState): Promise<AlertState>;
  state(): Promise<AlertState>;
  /** Waits until no message is under way. */
  settled(): Promise<void>;
  /**
   * Ends all work within some seconds, before another worker gets the workgroup. A later round begins again
   * if it comes back.
   */
  leave(): Promise<void>;
}

/** A message under way has this long to end before the workgroup is given up. */
const LEAVE_MS = 2 * SECOND_MS;
const SEND_MS_MAX = 30 * SECOND_MS;
const RETRY_MS_MIN = 30 * SECOND_MS;
const RETRY_MS_MAX = HOUR_MS;
/** Messages of one channel in one round. */
const ROUND_MESSAGES_MAX = 2 * conditionNames.length;

export function createWorkgroupWatch(options: WorkgroupWatchOptions): WorkgroupWatch {
  const { workgroupId, book, isOwner, send, onSent, clock, logger } = options;
  let { settings, channels, active } = settingsNow();
  const lasting = createLastingFindings(clock);
  const retryAtMs = new Map<string, number>();
  const sending = new Map<string, Promise<void>>();
  let leaving = new AbortController();
  let isLeaving = false;
  const state = createOwnedAlertState({ workgroupId, book, isOwner, takeOver: withoutOldChannels, logger });

  function settingsNow() {
    const settings = options.settings();
    return {
      settings,
      channels: channelsOf(settings, workgroupId),
      active: conditionNames.filter((name) => settings.conditions[name] !== 'off'),
    };
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

  function hasLasted(condition: string, subject: string): boolean {
    const one = settings.conditions[condition as ConditionName];
    return one !== 'off' && lasting.hasLasted(condition, subject, one.for);
  }

  /** Sends the messages that wait for a channel, one after the other. */
  async function sendWaiting(channelId: string): Promise<void> {
    // Right after a start it is not known yet which workgroups this worker has.
    const speaksForMachine = ({ condition, subject }: Alarm) =>
      hasLasted(condition, subject) && options.speaksForMachine(channelId);
    for (let count = 0; count < ROUND_MESSAGES_MAX && !isLeaving; count++) {
      const channel = channels.find(({ id }) => id === channelId);
      if (!channel || elapsedOf(clock) < (retryAtMs.get(channel.id) ?? 0)) return;
      // Storing the attempt is the fence: an owner that was replaced ends here.
      const begun = await state.update((current) =>
        beginAttempt(current, { channelId, workgroupId, nowMs: clock.now(), speaksForMachine }),
      );
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
      await state.update((current) => endAttempt(current, channelId, outcome, clock.now()));
      if (outcome.kind !== 'failed') continue;
      const waitMs = growingWaitMs(message.attempts, RETRY_MS_MIN, RETRY_MS_MAX);
      retryAtMs.set(channel.id, elapsedOf(clock) + waitMs);
      return;
    }
  }

  return {
    async round() {
      try {
        if (isLeaving || !isOwner()) {
          if (!isLeaving) state.forget();
          return;
        }
        if (options.settings() !== settings) {
          ({ settings, channels, active } = settingsNow());
          await state.update(withoutOldChannels);
        }
        const findings = judge(await options.readFacts());
        lasting.note(findings);
        const nowMs = clock.now();
        const updated = await state.update((current) =>
          advanceAlarms(current, findings, { active, hasLasted, nowMs }),
        );
        if (!updated || isLeaving) return;
        for (const { id: channel } of channels) {
          if (sending.has(channel)) continue;
          const work = sendWaiting(channel)
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
      const changed = await state.update(by);
      if (changed && state.isStored()) return changed;
      throw new TransientError('AlertsNotStored', 'this cannot be stored now; try again in a moment');
    },
    state: state.read,
    async settled() {
      await Promise.all(sending.values());
    },
    async leave() {
      isLeaving = true;
      const work = Promise.all([...sending.values(), state.settled()]);
      if ((await withTimeout(work, LEAVE_MS)) === 'late') leaving.abort();
      await withTimeout(work, LEAVE_MS);
      state.forget();
      leaving = new AbortController();
      isLeaving = false;
    },
  };
}
