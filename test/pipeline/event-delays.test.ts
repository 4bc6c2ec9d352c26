import { expect, test } from 'vitest';
import { countEventDelays, eventDelayBoundsSeconds } from '../../src/pipeline/event-delays.ts';

/** Instants as pairs of 32-bit words, the low word first. */
function words(instants: readonly number[]): Uint32Array {
  return Uint32Array.from(instants.flatMap((ms) => [ms >>> 0, Math.floor(ms / 2 ** 32)]));
}

test('delays are counted by bounds that belong to their bucket; other kinds and rows beyond the count are left out', () => {
  const storeMs = Date.UTC(2026, 10, 23);
  const delaysMs = [0, 1_000, 1_001, 700_000_000, -5_000, 30_000, 30_000];
  const { counts, sumSeconds } = countEventDelays({
    count: 6,
    // The row before the last is the status of a device.
    kind: Uint8Array.from([0, 0, 0, 0, 0, 1, 0]),
    storeTime: words(delaysMs.map(() => storeMs)),
    eventTime: words(delaysMs.map((ms) => storeMs - ms)),
  });
  expect(counts.length).toBe(eventDelayBoundsSeconds.length + 1);
  // A device with a clock that is ahead counts as 0, so that the sum never falls.
  expect([counts[0], counts[1], counts.at(-1)]).toEqual([3, 1, 1]);
  expect(counts.reduce((sum, count) => sum + count, 0)).toBe(5);
  expect(sumSeconds).toBeCloseTo(1 + 1.001 + 700_000);
});
