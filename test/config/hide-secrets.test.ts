import { expect, test } from 'vitest';
import { hideSecrets } from '../../src/config/hide-secrets.ts';

test.each([
  ['a token', { upstream: { token: 'KEPT' } }, { upstream: { token: '[secret]' } }],
  ['a password', { mail: { password: 'KEPT' } }, { mail: { password: '[secret]' } }],
  ['the secret of a webhook', { webhook: { secret: 'KEPT' } }, { webhook: { secret: '[secret]' } }],
  [
    'the keys of a bucket',
    { s3: { accessKeyId: 'known', secretAccessKey: 'KEPT', sessionToken: 'KEPT' } },
    { s3: { accessKeyId: 'known', secretAccessKey: '[secret]', sessionToken: '[secret]' } },
  ],
  ['the key of a client', { tls: { clientKey: 'KEPT' } }, { tls: { clientKey: '[secret]' } }],
  [
    'every header',
    { headers: { authorization: 'KEPT', 'x-any': 'KEPT' } },
    { headers: { authorization: '[secret]', 'x-any': '[secret]' } },
  ],
  [
    'the path of a webhook',
    { webhook: { url: 'https://hooks.example/services/KEPT?key=KEPT' } },
    { webhook: { url: 'https://hooks.example/[secret]' } },
  ],
  [
    'the topic of ntfy',
    { channels: [{ ntfy: { url: 'https://ntfy.example/KEPT' } }] },
    { channels: [{ ntfy: { url: 'https://ntfy.example/[secret]' } }] },
  ],
  [
    'the credentials in an address',
    { upstream: { url: 'https://reader:KEPT@stream.example:8443/path' } },
    { upstream: { url: 'https://[secret]@stream.example:8443/path' } },
  ],
  ['credentials with an @', { url: 'mqtt://user:KE@PT@broker' }, { url: 'mqtt://[secret]@broker' }],
])('%s is hidden', (_, config, shown) => {
  expect(hideSecrets(config)).toEqual(shown);
});

test('everything else is shown, also addresses with an @ in their path', () => {
  const config = {
    port: 8080,
    none: null,
    tokens: ['one'],
    webhook: { url: 'no address' },
    url: 'https://stream.example/path@2?x=1',
    list: [true, { email: 'someone@example.com' }],
  };
  expect(hideSecrets(config)).toEqual(config);
});
