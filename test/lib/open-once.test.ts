import { expect, test } from 'vitest';
import { openOnce } from '../../src/lib/open-once.ts';

test('it is opened at the first use, and once for all callers', async () => {
  let opened = 0;
  const once = openOnce(async () => ++opened);
  expect(await once.ifOpened()).toBeUndefined();
  expect(opened).toBe(0);
  expect(await Promise.all([once.get(), once.get()])).toEqual([1, 1]);
  expect(await once.get()).toBe(1);
  expect(await once.ifOpened()).toBe(1);
});

test('a failed opening is not kept: its callers get the error, and the next one tries again', async () => {
  const outcomes = [() => Promise.reject(new Error('no room')), async () => 'open'];
  const once = openOnce<string>(() => outcomes.shift()!());
  const failing = Promise.all([once.get(), once.get()]);
  expect(await once.ifOpened()).toBeUndefined();
  await expect(failing).rejects.toThrow('no room');
  expect(await once.get()).toBe('open');
});
