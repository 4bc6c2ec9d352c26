import { expect, test } from 'vitest';
import { createQuota } from '../../src/http/per-owner-quota.ts';

test('an owner takes up to the maximum, and what is given back twice counts once', () => {
  const quota = createQuota(10, 'too much', 7);
  const giveBack = quota.take('one', 4);
  quota.take('one', 6);
  quota.take('other', 10);
  const refused = expect.objectContaining({ code: 'RateLimited', message: 'too much', retryAfterSeconds: 7 });
  expect(() => quota.take('one')).toThrow(refused);
  giveBack();
  giveBack();
  quota.take('one', 4);
  expect(() => quota.take('one')).toThrow(refused);
});
