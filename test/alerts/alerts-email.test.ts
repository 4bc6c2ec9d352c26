import { expect, test } from 'vitest';
import { createSendAlert } from '../../src/alerts/send-alert.ts';
import { alertsSchema } from '../../src/config/alert-settings.ts';
import { configSchema } from '../../src/config/config.ts';
import { mailSchema } from '../../src/config/mail-settings.ts';
import { startMailServer } from '../mail/mail-server.ts';
import { testCertificate } from '../support/test-certificate.ts';

const channel = { id: 'owner', email: { to: ['ada@example.com'] } };
const message = {
  id: 'one',
  kind: 'raised' as const,
  condition: 'deviceSilent',
  subjects: ['d1'],
  title: 'home: Device silent',
  text: 'garage has sent nothing since 2026-11-20T10:12Z',
  isUrgent: false,
  atMs: 0,
  attempts: 1,
};

test('an alert goes out as a mail, with the same Message-ID at each attempt', async () => {
  const { port, received } = await startMailServer();
  const mail = mailSchema.parse({
    host: '127.0.0.1',
    port,
    from: 'wattline@example.com',
    ca: testCertificate,
  });
  const send = createSendAlert(mail);
  const [parsed] = alertsSchema.parse({ channels: [channel] }).channels;
  const { signal } = new AbortController();
  expect(await send(parsed!, message, 'home', signal)).toEqual({ kind: 'told' });
  expect(await send(parsed!, message, 'home', signal)).toEqual({ kind: 'told' });
  const ids = received.map(({ source }) => /^Message-ID: (.+)$/m.exec(source)?.[1]);
  expect(ids[0]).toBe(ids[1]);
  expect(received[0]).toMatchObject({ to: ['ada@example.com'] });
  expect(received[0]!.source).toContain('Subject: home: Device silent\r\n');
  expect(received[0]!.source).toContain(message.text);
});

test('a mail server that does not answer is a failure that is tried again', async () => {
  const mail = mailSchema.parse({ host: '127.0.0.1', port: 1, tls: 'none', from: 'wattline@example.com' });
  const [parsed] = alertsSchema.parse({ channels: [channel] }).channels;
  const outcome = await createSendAlert(mail)(parsed!, message, 'home', new AbortController().signal);
  expect(outcome).toMatchObject({ kind: 'failed', why: expect.stringContaining('127.0.0.1:1') });
});

test('a channel with mails needs the mail server in the configuration', () => {
  const { error } = configSchema.safeParse({ alerts: { channels: [channel] } });
  expect(error?.issues).toMatchObject([{ path: ['alerts', 'channels', 0, 'email'] }]);
});
