import { expect, test } from 'vitest';
import { webhookHeaders } from '../../src/http/webhook-headers.ts';

const headers = { 'X-Own': 'a' };

test('a body is signed with the secret, even if it comes in parts', async () => {
  // Test case 2 of RFC 4231.
  const read = () => ['what do ya want ', 'for nothing?'];
  expect(await webhookHeaders({ headers, secret: 'Jefe' }, 'key-1', read)).toEqual({
    'X-Own': 'a',
    'Idempotency-Key': 'key-1',
    'Wattline-Signature': 'sha256=5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843',
  });
});

test('without a secret the body is not read', async () => {
  const read = () => {
    throw new Error('read');
  };
  expect(await webhookHeaders({ headers }, 'key-1', read)).toEqual({
    'X-Own': 'a',
    'Idempotency-Key': 'key-1',
  });
});
