import type { AlertChannel } from '../config/alert-settings.ts';
import { errorMessage } from '../lib/errors.ts';
import { growingWaitMs } from '../lib/growing-wait.ts';
import type { Logger } from '../lib/logger.ts';
import { type Clock, elapsedOf, HOUR_MS, SECOND_MS } from '../lib/time.ts';
import { withTimeout } from '../lib/with-timeout.ts';
import { conditionNames } from './alert-conditions.ts';
import type { Alarm } from './alert-state.ts';
import type { OwnedAlertState } from './owned-alert-state.ts';
import { beginAttempt, endAttempt } from './record-attempts.ts';
import type { SendAlert, SendOutcome } from './send-alert.ts';

interface MessageSenderOptions {
  workgroupId: string;
  /** The channels that are configured now. */
  channels(): readonly AlertChannel[];
  state: Pick<OwnedAlertState, 'update' | 'settled'>;
  /** False once another worker may have the workgroup. Nothing is sent then. */
  isOwner(): boolean;
  /** True if this workgroup tells a channel about an alarm of the machine. */
  tellsOfMachine(channelId: string, alarm: Alarm): boolean;
  send: SendAlert;
  /** Counts a finished attempt. */
  onSent: ((channelId: string, outcome: SendOutcome['kind']) => void) | undefined;
  clock: Clock;
  logger: Logger;
}

/** Sends the messages of a workgroup that wait for its channels. Each attempt is stored before it begins. */
interface MessageSender {
  /** Begins to send what waits for each channel, and does not wait for it. */
  start(): void;
  /** Waits until no message is under way. */
  settled(): Promise<void>;
  /** Ends all work within some seconds. After that it can start again. */
  end(): Promise<void>;
}

/** A message under way has this long to end before the workgroup is given up. */
const END_MS = 2 * SECOND_MS;
const SEND_MS_MAX = 30 * SECOND_MS;
/** A failed message waits for so long at least. Then the next round of checks tries it again. */
const RETRY_MS_MIN = 30 * SECOND_MS;
const RETRY_MS_MAX = HOUR_MS;
/** Messages of one channel in one round. */
const ROUND_MESSAGES_MAX = 2 * conditionNames.length;

export function createMessageSender(options: MessageSenderOptions): MessageSender {
  const { workgroupId, channels, state, isOwner, tellsOfMachine, send, onSent, clock, logger } = options;
  const retryAtMs = new Map<string, number>();
  const sending = new Map<string, Promise<void>>();
  let ending = new AbortController();
  let isEnding = false;

  /** Sends the messages that wait for a channel, one after the other. */
  async function sendWaiting(channelId: string): Promise<void> {
    const speaksForMachine = (alarm: Alarm) => tellsOfMachine(channelId, alarm);
    for (let count = 0; count < ROUND_MESSAGES_MAX && !isEnding; count++) {
      const channel = channels().find(({ id }) => id === channelId);
      if (!channel || elapsedOf(clock) < (retryAtMs.get(channel.id) ?? 0)) return;
      // Storing the attempt is the fence: an owner that was replaced ends here.
      const begun = await state.update((current) =>
        beginAttempt(current, { channelId, workgroupId, nowMs: clock.now(), speaksForMachine }),
      );
      const message = begun?.channels[channel.id]?.message;
      if (!message || isEnding || !isOwner()) return;
      const { signal: end } = ending;
      const signal = AbortSignal.any([end, AbortSignal.timeout(SEND_MS_MAX)]);
      const outcome = await send(channel, message, workgroupId, signal);
      // Whether it has arrived is not known. The next owner sends it again with the same id.
      if (end.aborted && outcome.kind !== 'told') return;
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
      if (!channels().some(({ id }) => id === channelId)) return;
      await state.update((current) => endAttempt(current, channelId, outcome, clock.now()));
      if (outcome.kind !== 'failed') continue;
      const waitMs = growingWaitMs(message.attempts, RETRY_MS_MIN, RETRY_MS_MAX);
      retryAtMs.set(channel.id, elapsedOf(clock) + waitMs);
      return;
    }
  }

  return {
    start() {
      for (const { id: channel } of channels()) {
        if (sending.has(channel)) continue;
        const work = sendWaiting(channel)
          .catch((error: unknown) => {
            logger.warn({ workgroup: workgroupId, channel, error: errorMessage(error) }, 'alerts.failed');
          })
          .finally(() => sending.delete(channel));
        sending.set(channel, work);
      }
    },
    async settled() {
      await Promise.all(sending.values());
    },
    async end() {
      isEnding = true;
      const work = Promise.all([...sending.values(), state.settled()]);
      if ((await withTimeout(work, END_MS)) === 'late') ending.abort();
      await withTimeout(work, END_MS);
      ending = new AbortController();
      isEnding = false;
    },
  };
}
