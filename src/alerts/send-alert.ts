import type { AlertChannel } from '../config/alert-settings.ts';
import type { MailSettings } from '../config/mail-settings.ts';
import { errorMessage, isRetryable, TerminalError } from '../lib/errors.ts';
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
      if (channel.webhook) await sendToWebhook(channel.webhook, message, workgroupId, signal);
      else if (channel.ntfy) await sendToNtfy(channel.ntfy, message, signal);
      else if (channel.email) await sendToEmail(channel.email, message, mail, signal);
      else throw new TerminalError('UnknownChannel', `nothing can send to channel ${channel.id}`);
      return { kind: 'told' };
    } catch (error) {
      return { kind: isRetryable(error) ? 'failed' : 'refused', why: errorMessage(error) };
    }
  };
}
