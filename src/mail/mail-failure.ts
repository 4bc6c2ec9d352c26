import type { MailSettings } from '../config/mail-settings.ts';
import { errorCode, TransientError } from '../lib/errors.ts';
import { visibleLine } from '../lib/visible-text.ts';

interface Failure {
  code: string;
  what: string;
  advice: string;
}

const unreachable: Failure = {
  code: 'MailServerUnreachable',
  what: 'does not answer',
  advice:
    'check mail.host, mail.port and the firewall; the port is usually 465 with tls: tls, and 587 with starttls',
};
/** By the codes of nodemailer. */
const failures: Readonly<Record<string, Failure>> = {
  EDNS: { ...unreachable, what: 'has no address', advice: 'check mail.host' },
  ECONNECTION: unreachable,
  ESOCKET: unreachable,
  ETIMEDOUT: unreachable,
  ETLS: {
    code: 'MailServerWithoutTls',
    what: 'offers no TLS that can be used',
    advice: 'check mail.port and mail.tls: tls begins with TLS (port 465), starttls changes to it (port 587)',
  },
  EAUTH: {
    code: 'MailLoginRefused',
    what: 'refuses the login',
    advice: 'check mail.user and mail.password; some providers ask for a password that is made for programs',
  },
  EENVELOPE: {
    code: 'MailRefused',
    what: 'refuses the sender or all addresses',
    advice: 'check mail.from and the addresses; some servers also ask for mail.user and mail.password',
  },
};
const otherFailure: Failure = {
  code: 'MailRefused',
  what: 'does not take the mail',
  advice: 'see the log of the mail server',
};

/**
 * The error for a mail that the server has not taken. It says what to check. It has no `cause`, because the
 * error of the library contains the dialogue with the server.
 */
export function mailFailure(settings: MailSettings, error: unknown): TransientError {
  const server = `the mail server ${settings.host}:${settings.port}`;
  const message = error instanceof Error ? error.message : '';
  if (/certificate has expired/i.test(message))
    return new TransientError(
      'MailServerUntrusted',
      `the certificate of ${server} has expired; ask its operator to renew it`,
    );
  if (/certificate|altnames/i.test(message))
    return new TransientError(
      'MailServerUntrusted',
      `the certificate of ${server} is not trusted (${visibleLine(message).slice(0, REPLY_CHARACTERS_MAX)}); check mail.host, or set mail.ca to the PEM of its authority`,
    );
  const { code, what, advice } = failures[errorCode(error) ?? ''] ?? otherFailure;
  return new TransientError(code, `${server} ${what}${replyOf(error, settings)}; ${advice}`);
}

const REPLY_CHARACTERS_MAX = 200;

/**
 * The answer of the server. For a refused login only its number, because its text can repeat the password.
 */
function replyOf(error: unknown, { password }: MailSettings): string {
  if (!(error instanceof Error)) return '';
  const { response, responseCode } = error as { response?: unknown; responseCode?: unknown };
  if (errorCode(error) === 'EAUTH') return typeof responseCode === 'number' ? ` (${responseCode})` : '';
  if (typeof response !== 'string') return '';
  const reply = password === undefined ? response : response.replaceAll(password, '[secret]');
  return ` (${visibleLine(reply).slice(0, REPLY_CHARACTERS_MAX)})`;
}
