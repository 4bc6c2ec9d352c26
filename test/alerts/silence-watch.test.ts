import { expect, test } from 'vitest';
import { createSilenceWatch } from '../../src/alerts/silence-watch.ts';
import { DAY_MS, HOUR_MS } from '../../src/lib/time.ts';
import { createTestClock, TEST_START_MS } from '../support/test-clock.ts';

test('the silence of a device grows with the time that passes, even if the clock is set', async () => {
  const clock = createTestClock();
  const watch = createSilenceWatch(clock);
  const silentMs = (lastSeenMs: number) => watch.look([{ device: 'd1', lastSeenMs }])[0]!.silentMs;
  expect(silentMs(TEST_START_MS - HOUR_MS)).toBe(HOUR_MS);
  clock.set(TEST_START_MS - DAY_MS);
  await clock.advance(HOUR_MS);
  expect(silentMs(TEST_START_MS - HOUR_MS)).toBe(2 * HOUR_MS);
  expect(silentMs(TEST_START_MS + HOUR_MS)).toBe(0);
  await clock.advance(HOUR_MS);
  expect(silentMs(TEST_START_MS + HOUR_MS)).toBe(HOUR_MS);
});

test('the silence of a device whose last data are later than the clock begins with the first look', async () => {
  const clock = createTestClock();
  const watch = createSilenceWatch(clock);
  const look = () => watch.look([{ device: 'd1', lastSeenMs: TEST_START_MS + DAY_MS }])[0]!.silentMs;
  expect(look()).toBe(0);
  await clock.advance(HOUR_MS);
  expect(look()).toBe(HOUR_MS);
});
