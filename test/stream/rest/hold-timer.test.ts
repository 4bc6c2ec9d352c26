import { expect, test } from 'vitest';
import { createHoldTimer } from '../../../src/stream/rest/hold-timer.ts';
import { createTestClock } from '../../support/test-clock.ts';

function setUp({ holdMs = 10_000, idleMs = 3_000 } = {}) {
  const clock = createTestClock();
  const caller = new AbortController();
  const timer = createHoldTimer({ startTimer: clock.startTimer, holdMs, idleMs, signal: caller.signal });
  /** Waits until the timer ends the wait. The result is true then. */
  const wait = () => {
    const waited = { hasEnded: false };
    void timer
      .during((stop) => new Promise((resolve) => stop.addEventListener('abort', () => resolve())))
      .then(() => {
        waited.hasEnded = true;
      });
    return waited;
  };
  return { clock, caller, timer, wait };
}

test('a request is over when it was held for long enough, with or without messages', async () => {
  const { clock, timer, wait } = setUp();
  const waited = wait();
  await clock.advance(9_999);
  expect([timer.isOver(false), timer.isOver(true), waited.hasEnded]).toEqual([false, false, false]);
  await clock.advance(1);
  expect([timer.isOver(false), timer.isOver(true), waited.hasEnded]).toEqual([true, true, true]);
});

test('a request that may not be held is over at once', () => {
  expect(setUp({ holdMs: 0 }).timer.isOver(false)).toBe(true);
});

test('an idle request is over if the caller has everything', async () => {
  const { clock, timer, wait } = setUp();
  timer.noteExhausted(false);
  const waited = wait();
  await clock.advance(2_999);
  expect([timer.isOver(true), waited.hasEnded]).toEqual([false, false]);
  await clock.advance(1);
  expect([timer.isOver(true), timer.isOver(false), waited.hasEnded]).toEqual([true, false, true]);
});

test('only a message begins the idle time again', async () => {
  const { clock, timer } = setUp();
  timer.noteExhausted(false);
  await clock.advance(2_000);
  timer.noteExhausted(false);
  await clock.advance(1_000);
  expect(timer.isOver(true)).toBe(true);
  timer.noteExhausted(true);
  expect(timer.isOver(true)).toBe(false);
  await clock.advance(2_999);
  expect(timer.isOver(true)).toBe(false);
  await clock.advance(1);
  expect(timer.isOver(true)).toBe(true);
});

test('a request whose caller has left is over, and its end leaves no timer', async () => {
  const { clock, caller, timer, wait } = setUp();
  timer.noteExhausted(false);
  const waited = wait();
  caller.abort();
  await clock.advance(0);
  expect([timer.isOver(false), waited.hasEnded]).toEqual([true, true]);
  timer.end();
  expect(clock.timersPending).toBe(0);
});
