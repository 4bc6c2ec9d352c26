import type { AlertChannel } from '../config/alert-settings.ts';
import type { MailSettings } from '../config/mail-settings.ts';
import { TerminalError } from '../lib/errors.ts';
import { sendMail } from '../mail/send-mail.ts';
import type { AlertMessage } from './alert-state.ts';

/** Sends a message as a mail. Its Message-ID is the same at each attempt. */
export async function sendToEmail(
  { to }: NonNullable<AlertChannel['email']>,
  { id, title, text }: AlertMessage,
  mail: MailSettings | undefined,
  signal: AbortSignal,
): Promise<void> {
  if (!mail) throw new TerminalError('NoMailServer', 'the configuration has no mail server; add "mail"');
  await sendMail(mail, { to, subject: title, text: `${text}\n`, key: id }, signal);
}
