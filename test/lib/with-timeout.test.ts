import { expect, test } from 'vitest';
import { withTimeout } from '../../src/lib/with-timeout.ts';

const timers = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;

test('what ends in time is returned or thrown, and no timer is left', async () => {
  const before = timers();
  expect(await withTimeout(Promise.resolve('done'), 100_000)).toBe('done');
  await expect(withTimeout(Promise.reject(new Error('broken')), 100_000)).rejects.toThrow('broken');
  expect(timers()).toBeLessThanOrEqual(before);
});

test('what takes longer is late, and its error is ignored', async () => {
  const slow = Promise.withResolvers<never>();
  expect(await withTimeout(slow.promise, 1)).toBe('late');
  slow.reject(new Error('too late'));
});
