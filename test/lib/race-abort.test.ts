import { getEventListeners } from 'node:events';
import { expect, test } from 'vitest';
import { raceAbort } from '../../src/lib/race-abort.ts';

test('a caller gets the work, or the reason of its signal, whichever comes first', async () => {
  const stop = new AbortController();
  expect(await raceAbort(Promise.resolve(1), undefined)).toBe(1);
  expect(await raceAbort(Promise.resolve(2), stop.signal)).toBe(2);
  expect(getEventListeners(stop.signal, 'abort')).toEqual([]);
  const work = Promise.withResolvers<never>();
  const caller = raceAbort(work.promise, stop.signal);
  stop.abort(new Error('gone'));
  await expect(caller).rejects.toThrow('gone');
  work.reject(new Error('too late'));
  await expect(raceAbort(new Promise(() => undefined), stop.signal)).rejects.toThrow('gone');
});
