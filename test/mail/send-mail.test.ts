import { type AddressInfo, createServer } from 'node:net';
import { expect, onTestFinished, test, vi } from 'vitest';
import { type MailSettings, mailSchema } from '../../src/config/mail-settings.ts';
import { type Mail, sendMail } from '../../src/mail/send-mail.ts';
import { testCertificate } from '../support/test-certificate.ts';
import { startMailServer } from './mail-server.ts';

const never = new AbortController().signal;
const mail: Mail = { to: ['ada@example.com'], subject: 'Energy', text: 'All is well.', key: 'a/1' };

function settings(given: Record<string, unknown>): MailSettings {
  return mailSchema.parse({ host: '127.0.0.1', from: 'Wattline <wattline@example.com>', ...given });
}

/** The error of a mail that is not taken. */
async function failure(given: Record<string, unknown>, one: Mail = mail): Promise<Error & { code: string }> {
  return sendMail(settings(given), one, never).then(
    () => expect.unreachable('the mail was taken'),
    (error: Error & { code: string }) => error,
  );
}

test('a mail goes encrypted over STARTTLS, with text, HTML and an attachment', async () => {
  const { port, received } = await startMailServer();
  const attachment = { name: 'day.csv', contentType: 'text/csv', content: Buffer.from('a,b\r\n1,2\r\n') };
  const html = '<p>All is well.</p>';
  const sent = await sendMail(settings({ port, ca: testCertificate }), { ...mail, html, attachment }, never);
  expect(sent).toEqual({ refused: [] });
  const [got] = received;
  expect(got).toMatchObject({ from: 'wattline@example.com', to: ['ada@example.com'], wasEncrypted: true });
  expect(got?.source).toContain('From: Wattline <wattline@example.com>\r\n');
  expect(got?.source).toContain('All is well.');
  expect(got?.source).toContain(html);
  expect(got?.source).toContain(attachment.content.toString('base64'));
  expect(got?.source).toContain('filename=day.csv');
  // Programs that answer mails leave it alone.
  expect(got?.source).toContain('Auto-Submitted: auto-generated\r\n');
});

test('a mail goes over TLS from the first byte', async () => {
  const { port, received } = await startMailServer({ secure: true });
  await sendMail(settings({ port, tls: 'tls', ca: testCertificate }), mail, never);
  expect(received).toMatchObject([{ wasEncrypted: true }]);
});

test('a certificate that nobody trusts is refused even if the environment says otherwise, and the error names mail.ca', async () => {
  const { port, received } = await startMailServer();
  onTestFinished(() => void vi.unstubAllEnvs());
  for (const reject of ['1', '0']) {
    vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', reject);
    expect(await failure({ port })).toMatchObject({
      code: 'MailServerUntrusted',
      message: expect.stringMatching(/self.signed certificate.*mail\.ca/),
    });
  }
  expect(received).toEqual([]);
});

test('a server that offers no STARTTLS gets no login and no mail', async () => {
  const logins: unknown[] = [];
  const { port, received } = await startMailServer({
    disabledCommands: ['STARTTLS'],
    allowInsecureAuth: true,
    onAuth: (auth, _session, done) => done(null, { user: logins.push(auth) }),
  });
  const error = await failure({ port, user: 'ada', password: 'a-password' });
  expect(error).toMatchObject({ code: 'MailServerWithoutTls', message: expect.stringContaining('mail.tls') });
  expect([logins, received]).toEqual([[], []]);
});

test('the login is sent; a wrong one is refused without the password in the error', async () => {
  const { port, received } = await startMailServer({
    authOptional: false,
    onAuth({ username, password }, _session, done) {
      if (username === 'ada' && password === 'right-password') done(null, { user: username });
      else done(new Error(`no ${password}`));
    },
  });
  await sendMail(
    settings({ port, ca: testCertificate, user: 'ada', password: 'right-password' }),
    mail,
    never,
  );
  expect(received).toHaveLength(1);
  const error = await failure({ port, ca: testCertificate, user: 'ada', password: 'wrong-password' });
  expect(error).toMatchObject({
    code: 'MailLoginRefused',
    message: expect.stringContaining('mail.password'),
  });
  const base64 = Buffer.from('\0ada\0wrong-password').toString('base64');
  expect(`${error.stack} ${JSON.stringify(error)} ${error.cause}`).not.toMatch(
    new RegExp(`wrong-password|${base64}`),
  );
});

test('a line end in a subject, a sender or an address begins no header', async () => {
  const { port, received } = await startMailServer();
  const subject = 'Meter "x"\r\nBcc: eve@example.com\r\n\r\nbody\u0000';
  await sendMail(settings({ port, tls: 'none' }), { ...mail, subject }, never);
  expect(received).toMatchObject([{ to: ['ada@example.com'] }]);
  const [headers] = received[0]!.source.split('\r\n\r\n');
  expect(headers).not.toMatch(/^Bcc:/m);
  expect(headers).toMatch(/^Subject: =\?UTF-8\?Q\?Meter_=22x=22_Bcc/m);
  for (const from of ['a@b.c\r\nBcc: e@e.e', 'A\nBcc: e@e.e <a@b.c>', 'a@b.c, e@e.e', '<a@b.c> <e@e.e>'])
    expect(mailSchema.safeParse({ host: 'localhost', tls: 'none', from }).success, from).toBe(false);
  for (const to of ['e@e.e\r\nRCPT TO:<f@f.f>', 'a@b.c,e@e.e', 'A <a@b.c>'])
    await expect(sendMail(settings({ port, tls: 'none' }), { ...mail, to: [to] }, never)).rejects.toThrow(
      'must be an address',
    );
  expect(received).toHaveLength(1);
});

test('a repeated mail has the same Message-ID, another one has not', async () => {
  const { port, received } = await startMailServer();
  for (const key of ['a/1', 'a/1', 'a/2'])
    await sendMail(settings({ port, tls: 'none' }), { ...mail, key }, never);
  const [first, second, third] = received.map(
    ({ source }) => /^Message-ID: (<.+@example\.com>)\r$/m.exec(source)?.[1],
  );
  expect(first).toBeDefined();
  expect(second).toBe(first);
  expect(third).not.toBe(first);
});

test('refused addresses are reported, and the others get the mail; if all are refused it fails with what the server said', async () => {
  const { port, received } = await startMailServer({
    onRcptTo: ({ address }, _session, done) =>
      done(address.startsWith('eve') ? new Error('no such person here') : null),
  });
  const to = ['eve@example.com', 'ada@example.com'];
  expect(await sendMail(settings({ port, tls: 'none' }), { ...mail, to }, never)).toEqual({
    refused: ['eve@example.com'],
  });
  expect(received).toMatchObject([{ to: ['ada@example.com'] }]);
  expect(await failure({ port, tls: 'none' }, { ...mail, to: ['eve@example.com'] })).toMatchObject({
    code: 'MailRefused',
    message: expect.stringContaining('no such person here'),
  });
});

test('a server that does not exist, and a server that says nothing, end in an error or at the signal', async () => {
  const silent = createServer();
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
  const { port } = silent.address() as AddressInfo;
  const connected = new Promise<void>((resolve) =>
    silent.once('connection', (socket) => {
      onTestFinished(() => void socket.destroy());
      resolve();
    }),
  );
  const stop = new AbortController();
  const waiting = sendMail(settings({ port, tls: 'none' }), mail, stop.signal);
  void connected.then(() => stop.abort(new Error('the service stops')));
  await expect(waiting).rejects.toThrow('the service stops');
  await new Promise<void>((resolve) => silent.close(() => resolve()));
  expect(await failure({ port, tls: 'none' })).toMatchObject({
    code: 'MailServerUnreachable',
    message: expect.stringContaining('check mail.host'),
  });
});

test.each(['text', 'html', 'attachment'] as const)(
  'a mail that is too large by its %s is not sent',
  async (part) => {
    const { port, received } = await startMailServer();
    const content = Buffer.alloc(10 * 1024 ** 2, 'a');
    const attachment = { name: 'a.csv', contentType: 'text/csv', content };
    const large = part === 'attachment' ? { attachment } : { [part]: content.toString() };
    expect(await failure({ port, tls: 'none' }, { ...mail, html: '<p>a</p>', ...large })).toMatchObject({
      code: 'MailTooLarge',
    });
    expect(received).toEqual([]);
  },
);

test('the settings refuse plain text to other machines, and a password without a user', () => {
  const problems = (given: Record<string, unknown>) =>
    mailSchema
      .safeParse({ host: 'mail.example.com', from: 'w@example.com', ...given })
      .error?.issues.map(({ path, message }) => `${path.join('.')}: ${message}`) ?? [];
  expect(problems({})).toEqual([]);
  expect(problems({ tls: 'none' })).toEqual([
    expect.stringContaining('tls: none is only possible to this machine'),
  ]);
  expect(problems({ tls: 'none', allowPlain: true })).toEqual([]);
  expect(problems({ tls: 'none', host: '127.0.0.1' })).toEqual([]);
  expect(problems({ password: 'a-password' })).toEqual([expect.stringContaining('user: is needed too')]);
  expect([settings({}).port, settings({ tls: 'tls' }).port, settings({ tls: 'none' }).port]).toEqual([
    587, 465, 25,
  ]);
});
