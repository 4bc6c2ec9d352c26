import { addressOf, type MailSettings, mailRecipients } from '../config/mail-settings.ts';
import { sha256Hex } from '../lib/durable-files.ts';
import { InputError, TerminalError, TransientError } from '../lib/errors.ts';
import { formatCount } from '../lib/format-count.ts';
import { MINUTE_MS, SECOND_MS } from '../lib/time.ts';
import { MEBIBYTE } from '../lib/units.ts';
import { visibleLine } from '../lib/visible-text.ts';
import { mailFailure } from './mail-failure.ts';
import { transportOptions } from './transport-options.ts';

export interface Mail {
  /** Addresses without names. */
  to: readonly string[];
  subject: string;
  text: string;
  html?: string | undefined;
  attachment?: { name: string; contentType: string; content: Buffer } | undefined;
  /**
   * The same for every attempt to send this mail. The Message-ID follows from it, so a receiver can drop a
   * repeated mail.
   */
  key: string;
}

interface SentMail {
  /** Addresses that the server has refused. It has taken the mail for the others. */
  refused: string[];
}

const SEND_MS_MAX = 2 * MINUTE_MS;
const MAIL_BYTES_MAX = 10 * MEBIBYTE;
const SUBJECT_CHARACTERS_MAX = 200;

/**
 * Sends one mail over SMTP. Returns when the server has taken it for at least one address.
 * @throws TransientError that says what to check, without the password; TerminalError if it is too large or
 *   an address is not valid; the reason of `signal` if it aborts
 */
export async function sendMail(settings: MailSettings, mail: Mail, signal: AbortSignal): Promise<SentMail> {
  refuseTooLarge(mail);
  refuseWrongAddresses(mail);
  signal.throwIfAborted();
  const { to, subject, text, html, attachment, key } = mail;
  const limited = AbortSignal.any([signal, AbortSignal.timeout(SEND_MS_MAX)]);
  // Loaded at first use, because most services send no mail.
  const { createTransport } = await import('nodemailer');
  const transport = createTransport(transportOptions(settings));
  try {
    const { rejected } = await transport.sendMail({
      from: settings.from,
      to: [...to],
      subject: oneLine(subject),
      text,
      html,
      messageId: messageIdOf(settings.from, key),
      // Programs that answer mails, such as an absence notice, do not answer this one.
      headers: { 'Auto-Submitted': 'auto-generated' },
      attachments: attachment && [
        { filename: attachment.name, contentType: attachment.contentType, content: attachment.content },
      ],
      // The library reads no file and no address that a text of the mail names.
      disableFileAccess: true,
      disableUrlAccess: true,
      signal: limited,
    });
    return { refused: rejected };
  } catch (error) {
    signal.throwIfAborted();
    if (!limited.aborted) throw mailFailure(settings, error);
    throw new TransientError(
      'MailServerSilent',
      `the mail server ${settings.host}:${settings.port} has not taken the mail within ${SEND_MS_MAX / SECOND_MS} s; check the connection to it`,
    );
  } finally {
    transport.close();
  }
}

/** The Message-ID of a mail. It shows nothing of the content. */
function messageIdOf(from: string, key: string): string {
  const address = addressOf(from);
  const digest = sha256Hex(`${address}\n${key}`).slice(0, 40);
  return `<${digest}@${address.slice(address.lastIndexOf('@') + 1)}>`;
}

/** The name of a device can contain a line end, which would begin another header. */
function oneLine(text: string): string {
  return visibleLine(text).slice(0, SUBJECT_CHARACTERS_MAX);
}

function refuseTooLarge({ text, html = '', attachment }: Mail): void {
  const bytes = Buffer.byteLength(text) + Buffer.byteLength(html) + (attachment?.content.length ?? 0);
  if (bytes <= MAIL_BYTES_MAX) return;
  throw new TerminalError(
    'MailTooLarge',
    `the mail has ${formatCount(bytes)} bytes, but a mail can have ${formatCount(MAIL_BYTES_MAX)}; send less in one mail`,
  );
}

function refuseWrongAddresses({ to }: Mail): void {
  const { error } = mailRecipients.safeParse(to);
  if (!error) return;
  throw new InputError(
    'the list of addresses of a mail',
    error.issues.map(({ path, message }) => ({ path: path.join('.'), message })),
  );
}
