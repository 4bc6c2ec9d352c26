import type { SMTPTransportOptions } from 'nodemailer';
import type { MailSettings } from '../config/mail-settings.ts';
import { SECOND_MS } from '../lib/time.ts';

const STEP_MS_MAX = 20 * SECOND_MS;

/** How to speak with a mail server. */
export function transportOptions({
  host,
  port,
  tls,
  ca,
  user,
  password,
}: MailSettings): SMTPTransportOptions {
  return {
    host,
    port,
    secure: tls === 'tls',
    requireTLS: tls === 'starttls',
    ignoreTLS: tls === 'none',
    // Explicit, because a variable of the environment can change the default.
    tls: { rejectUnauthorized: true, minVersion: 'TLSv1.2', ...(ca !== undefined && { ca }) },
    ...(user !== undefined && { auth: { user, pass: password } }),
    dnsTimeout: STEP_MS_MAX,
    connectionTimeout: STEP_MS_MAX,
    greetingTimeout: STEP_MS_MAX,
    socketTimeout: STEP_MS_MAX,
    // A log would contain the dialogue with the server.
    logger: false,
  };
}
