import { expect, test } from 'vitest';
import { createWaiters } from '../../../src/stream/log/waiters.ts';
import { settle } from '../../support/test-clock.ts';

const never = new AbortController().signal;

/** Readers that wait at positions, and the positions of those that were woken. */
function setUp(...positions: bigint[]) {
  const waiters = createWaiters();
  const woken: bigint[] = [];
  for (const position of positions) void waiters.wait(position, never).then(() => woken.push(position));
  return { waiters, woken };
}

test('a message wakes the readers at its offset and before it, and no others', async () => {
  const { waiters, woken } = setUp(4n, 5n, 6n);
  waiters.wake(5n);
  await settle();
  expect(woken).toEqual([4n, 5n]);
  expect(waiters.size).toBe(1);
  waiters.wakeAll();
  await settle();
  expect(woken).toEqual([4n, 5n, 6n]);
  expect(waiters.size).toBe(0);
});

test('a reader that leaves waits no longer, and one that has left does not begin to wait', async () => {
  const { waiters } = setUp();
  const leaving = new AbortController();
  const waited = waiters.wait(1n, leaving.signal);
  expect(waiters.size).toBe(1);
  leaving.abort();
  await waited;
  await waiters.wait(1n, AbortSignal.abort());
  expect(waiters.size).toBe(0);
});
