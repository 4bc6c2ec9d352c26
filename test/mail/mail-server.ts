import type { AddressInfo } from 'node:net';
import { SMTPServer, type SMTPServerOptions } from 'smtp-server';
import { onTestFinished } from 'vitest';
import { testCertificate, testCertificateKey } from '../support/test-certificate.ts';

export interface ReceivedMail {
  from: string;
  to: string[];
  /** Headers and body as they came. */
  source: string;
  wasEncrypted: boolean;
}

export interface MailServer {
  port: number;
  received: ReceivedMail[];
}

/**
 * A real mail server on this machine. It offers STARTTLS with a certificate that nobody trusts, and wants no
 * login.
 */
export async function startMailServer(options: SMTPServerOptions = {}): Promise<MailServer> {
  const received: ReceivedMail[] = [];
  const server = new SMTPServer({
    key: testCertificateKey,
    cert: testCertificate,
    authOptional: true,
    disableReverseLookup: true,
    closeTimeout: 100,
    onData(stream, session, done) {
      const parts: Buffer[] = [];
      stream.on('data', (part: Buffer) => parts.push(part));
      stream.on('end', () => {
        const { mailFrom, rcptTo } = session.envelope;
        received.push({
          from: mailFrom ? mailFrom.address : '',
          to: rcptTo.map(({ address }) => address),
          source: Buffer.concat(parts).toString('utf8'),
          wasEncrypted: session.secure,
        });
        done();
      });
    },
    ...options,
  });
  // A client that does not trust the certificate ends the connection.
  server.on('error', () => {});
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => new Promise<void>((resolve) => server.close(() => resolve())));
  return { port: (server.server.address() as AddressInfo).port, received };
}
