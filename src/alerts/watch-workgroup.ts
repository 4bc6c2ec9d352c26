import {
  type AlertSettings,
  type ConditionName,
  type ConditionSettings,
  channelsOf,
} from '../config/alert-settings.ts';
import { errorMessage, TransientError } from '../lib/errors.ts';
import type { Logger } from '../lib/logger.ts';
import type { Clock } from '../lib/time.ts';
import { advanceAlarms, type Findings } from './advance-alarms.ts';
import type { AlertBook } from './alert-book.ts';
import type { AlertCondition, AlertFinding } from './alert-condition-type.ts';
import { alertConditions, conditionNames } from './alert-conditions.ts';
import type { AlertFacts } from './alert-facts.ts';
import type { AlertState } from './alert-state.ts';
import { createLastingFindings } from './lasting-findings.ts';
import { createMessageSender } from './message-sender.ts';
import { createOwnedAlertState } from './owned-alert-state.ts';
import type { SendAlert, SendOutcome } from './send-alert.ts';

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
  onSent?: (channelId: string, outcome: SendOutcome['kind']) => void;
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

export function createWorkgroupWatch(options: WorkgroupWatchOptions): WorkgroupWatch {
  const { workgroupId, book, isOwner, send, onSent, clock, logger } = options;
  let { settings, channels, active } = settingsNow();
  const lasting = createLastingFindings(clock);
  let isLeaving = false;
  const state = createOwnedAlertState({ workgroupId, book, isOwner, takeOver: withoutOldChannels, logger });
  const sender = createMessageSender({
    workgroupId,
    channels: () => channels,
    state,
    isOwner,
    // Right after a start it is not known yet which workgroups this worker has.
    tellsOfMachine: (channelId, { condition, subject }) =>
      hasLasted(condition, subject) && options.speaksForMachine(channelId),
    send,
    onSent,
    clock,
    logger,
  });

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
    const setting = settings.conditions[condition as ConditionName];
    return setting !== 'off' && lasting.hasLasted(condition, subject, setting.for);
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
        if (updated && !isLeaving) sender.start();
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
    settled: sender.settled,
    async leave() {
      isLeaving = true;
      await sender.end();
      state.forget();
      isLeaving = false;
    },
  };
}
