import { expect, test } from 'vitest';
import { mailSchema } from '../../src/config/mail-settings.ts';
import { transportOptions } from '../../src/mail/transport-options.ts';

const optionsOf = (given: object) =>
  transportOptions(mailSchema.parse({ host: 'localhost', from: 'w@example.com', ...given }));

test.each([
  ['starttls', 587, { secure: false, requireTLS: true, ignoreTLS: false }],
  ['tls', 465, { secure: true, requireTLS: false, ignoreTLS: false }],
  ['none', 25, { secure: false, requireTLS: false, ignoreTLS: true }],
])('with tls: %s mails go to port %d', (tls, port, protection) => {
  expect(optionsOf({ tls })).toMatchObject({ host: 'localhost', port, ...protection });
});

test('a certificate is always checked, from TLS 1.2 on, and only a configured user signs in', () => {
  const tls = { rejectUnauthorized: true, minVersion: 'TLSv1.2' };
  const plain = optionsOf({});
  expect(plain.tls).toEqual(tls);
  expect(plain).not.toHaveProperty('auth');
  expect(optionsOf({ ca: 'PEM', user: 'u', password: 'p' })).toMatchObject({
    tls: { ...tls, ca: 'PEM' },
    auth: { user: 'u', pass: 'p' },
  });
});
