import { checkServerIdentity } from 'node:tls';
import type { MailSettings } from '../config/mail-settings.ts';
import type { UtcMs } from '../lib/time.ts';
import { mailFailure } from './mail-failure.ts';
import { transportOptions } from './transport-options.ts';

/**
 * Connects to a mail server, changes to TLS, signs in, and disconnects. It sends no mail.
 * @returns when its certificate ends; undefined without TLS
 * @throws TransientError that says what to check, without the password; the reason of `signal` if it aborts
 */
export async function probeMailServer(
  settings: MailSettings,
  signal: AbortSignal,
): Promise<{ certificateEndsAtMs: UtcMs | undefined }> {
  signal.throwIfAborted();
  let certificateEndsAtMs: UtcMs | undefined;
  const options = transportOptions(settings);
  const { createTransport } = await import('nodemailer');
  const transport = createTransport({
    ...options,
    tls: {
      ...options.tls,
      // The library also calls this after STARTTLS. Nothing else there shows the certificate.
      checkServerIdentity(host: string, certificate) {
        certificateEndsAtMs = Date.parse(certificate.valid_to);
        return checkServerIdentity(host, certificate);
      },
    },
  });
  const { promise: whenAborted, reject } = Promise.withResolvers<never>();
  const abort = () => reject(signal.reason);
  signal.addEventListener('abort', abort, { once: true });
  try {
    await Promise.race([transport.verify(), whenAborted]);
    return { certificateEndsAtMs };
  } catch (error) {
    signal.throwIfAborted();
    throw mailFailure(settings, error);
  } finally {
    signal.removeEventListener('abort', abort);
    transport.close();
  }
}
