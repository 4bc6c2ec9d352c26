import { getEventListeners } from 'node:events';
import { expect, test } from 'vitest';
import { createChangeSignal } from '../../src/client/change-signal.ts';
import { HOUR_MS } from '../../src/lib/time.ts';

const late = () => performance.now() + HOUR_MS;

test('a wait ends with a change or an abort, and a call after the abort throws its reason', async () => {
  const changes = createChangeSignal();
  const stopping = new AbortController();
  const both = Promise.all([changes.wait(late(), undefined), changes.wait(late(), stopping.signal)]);
  changes.wake();
  expect(await both).toEqual([true, true]);
  const waiting = changes.wait(late(), stopping.signal);
  stopping.abort(new Error('the worker stops'));
  expect(await waiting).toBe(true);
  await expect(changes.wait(late(), stopping.signal)).rejects.toThrow('the worker stops');
});

test('a wait ends with its time, and a wait after that time says that it is over', async () => {
  const changes = createChangeSignal();
  expect(await changes.wait(performance.now() + 5, undefined)).toBe(true);
  expect(await changes.wait(performance.now() - 1, undefined)).toBe(false);
});

test('a wait that is over leaves no listener at its signal', async () => {
  const changes = createChangeSignal();
  const { signal } = new AbortController();
  const waiting = changes.wait(late(), signal);
  changes.wake();
  await waiting;
  expect(getEventListeners(signal, 'abort')).toEqual([]);
});
