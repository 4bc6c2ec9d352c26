import { expect, test } from 'vitest';
import { mailSchema } from '../../src/config/mail-settings.ts';
import { mailFailure } from '../../src/mail/mail-failure.ts';

const settings = mailSchema.parse({
  ...{ host: 'mail.example.com', port: 587, user: 'ada', password: 'a-password' },
  from: 'wattline@example.com',
});

/** The failure of an error of the library. */
function failureOf(message: string, more: Record<string, unknown> = {}) {
  return mailFailure(settings, Object.assign(new Error(message), more));
}

test.each([
  ['EDNS', 'MailServerUnreachable', 'has no address; check mail.host'],
  ['ETIMEDOUT', 'MailServerUnreachable', 'does not answer; check mail.host, mail.port and the firewall'],
  ['ETLS', 'MailServerWithoutTls', 'offers no TLS that can be used; check mail.port and mail.tls'],
  ['EAUTH', 'MailLoginRefused', 'refuses the login; check mail.user and mail.password'],
  ['EENVELOPE', 'MailRefused', 'refuses the sender or all addresses; check mail.from and the addresses'],
  ['EMESSAGE', 'MailRefused', 'does not take the mail; see the log of the mail server'],
])('%s of the library is %s, and says what to check', (code, failure, says) => {
  expect(failureOf('no', { code })).toMatchObject({
    code: failure,
    message: expect.stringContaining(`the mail server mail.example.com:587 ${says}`),
  });
});

test('a certificate that has ended is for the operator of the server, and another one for mail.ca', () => {
  expect(failureOf('certificate has expired', { code: 'ESOCKET' }).message).toBe(
    'the certificate of the mail server mail.example.com:587 has expired; ask its operator to renew it',
  );
  expect(failureOf('self-signed certificate', { code: 'ESOCKET' }).message).toContain('set mail.ca');
});

test('the reply of the server is a part of the error, without the password and in 200 characters', () => {
  const reply = (response: string) => failureOf('no', { code: 'EMESSAGE', response }).message;
  expect(reply('554 a-password, not a-password')).toContain(' (554 [secret], not [secret]);');
  expect(reply('554 a-password is\r\nno\u001b good')).toContain(' (554 [secret] is no\\u001b good);');
  expect(reply(`554 ${'x'.repeat(1_000)}`)).toContain(` (554 ${'x'.repeat(196)});`);
});

test('of the reply to a refused login only its number is a part of the error', () => {
  const { message, cause } = failureOf('no', {
    ...{ code: 'EAUTH', responseCode: 535, response: '535 YS1wYXNzd29yZA== is wrong' },
  });
  expect(message).toContain('refuses the login (535);');
  expect(cause).toBeUndefined();
});
