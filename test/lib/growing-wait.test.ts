import { expect, test } from 'vitest';
import { growingWaitMs } from '../../src/lib/growing-wait.ts';

test('a wait doubles with each failure up to its maximum, after any number of failures', () => {
  expect([1, 2, 3, 4, 5_000].map((failures) => growingWaitMs(failures, 200, 1_000))).toEqual([
    200, 400, 800, 1_000, 1_000,
  ]);
  expect(growingWaitMs(5_000, 0)).toBe(0);
});
