import { expect, test } from 'vitest';
import { createArrivalTimes } from '../../src/inputs/arrival-times.ts';

const NOON = Date.UTC(2026, 10, 20, 12);

/** The times of readings of power of a device, of which each arrives at a time of the clock. */
function setUp() {
  const timeOf = createArrivalTimes();
  return (receivedAtMs: number, elapsedMs: number, device = 'roof') => {
    const item = { device, event_time: receivedAtMs, data: { power: 1 } };
    return timeOf({ table: 'telemetry', item }, { receivedAtMs, elapsedMs });
  };
}

test('readings of a series that arrive at the same time get times that differ, and those of another do not', () => {
  const timeOf = setUp();
  expect([timeOf(NOON, 0), timeOf(NOON, 0), timeOf(NOON, 0)]).toEqual([NOON, NOON + 1, NOON + 2]);
  expect(timeOf(NOON, 0, 'garage')).toBe(NOON);
  expect(timeOf(NOON + 1_000, 1_000)).toBe(NOON + 1_000);
});

test('readings have the time of the clock again at once if it was set back by a second or more', () => {
  const timeOf = setUp();
  timeOf(NOON, 0);
  expect(timeOf(NOON - 999, 0), 'less than a second').toBe(NOON + 1);
  expect(timeOf(NOON - 1_999, 0)).toBe(NOON - 1_999);
  expect(timeOf(NOON - 1_999, 0)).toBe(NOON - 1_998);
});
