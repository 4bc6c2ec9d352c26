import { type AlertChannel, type ChannelOfKind, channelOfKind } from '../config/alert-settings.ts';
import type { MailSettings } from '../config/mail-settings.ts';
import { errorMessage, isRetryable } from '../lib/errors.ts';
import type { AlertMessage } from './alert-state.ts';
import { sendToEmail } from './send-to-email.ts';
import { sendToNtfy } from './send-to-ntfy.ts';
import { sendToWebhook } from './send-to-webhook.ts';

/**
 * The outcome of sending a message to a channel. `refused`: the same message would be refused again.
 * `failed`: it is tried again.
 */
export type SendOutcome = { kind: 'told' } | { kind: 'refused' | 'failed'; why: string };

/** Sends a message to one channel. An abort is a failure. */
export type SendAlert = (
  channel: AlertChannel,
  message: AlertMessage,
  workgroupId: string,
  signal: AbortSignal,
) => Promise<SendOutcome>;

/** @param mail the server that takes mails; undefined if none is configured */
export function createSendAlert(mail: MailSettings | undefined): SendAlert {
  return async (channel, message, workgroupId, signal) => {
    try {
      await sendTo(channelOfKind(channel));
      return { kind: 'told' };
    } catch (error) {
      return { kind: isRetryable(error) ? 'failed' : 'refused', why: errorMessage(error) };
    }

    function sendTo({ kind, to }: ChannelOfKind): Promise<void> {
      switch (kind) {
        case 'webhook':
          return sendToWebhook(to, message, workgroupId, signal);
        case 'ntfy':
          return sendToNtfy(to, message, signal);
        case 'email':
          return sendToEmail(to, message, mail, signal);
        default:
          return kind satisfies never;
      }
    }
  };
}
