import { expect, test } from 'vitest';
import { usualWh } from '../../src/exports/usual-energy.ts';
import { addDays } from '../../src/lib/time.ts';

const day = '2026-11-19';
/** Energies by the number of days before the day. */
const usualOf = (wh: Record<number, number | null>) =>
  usualWh(
    Object.fromEntries(Object.entries(wh).map(([before, energy]) => [addDays(day, -Number(before)), energy])),
    day,
  );

test('the usual energy is the mean of at least three of the same weekdays of four weeks', () => {
  expect(usualOf({ 7: 10, 14: 20, 21: 60, 1: 900, 8: 900 })).toBe(30);
  expect(usualOf({ 7: 10, 14: 20, 28: 60 })).toBe(30);
  expect(usualOf({ 7: 10, 14: 20, 35: 60 })).toBeNull();
  expect(usualOf({ 7: 10, 14: 20, 0: 60, [-7]: 60 })).toBeNull();
  expect(usualOf({ 7: 10, 14: 20, 21: null })).toBeNull();
});

test('without these it is the mean of at least seven days of the four weeks', () => {
  expect(usualOf({ 1: 7, 2: 7, 3: 7, 4: 7, 5: 7, 14: 14, 28: 0 })).toBe(7);
  expect(usualOf({ 1: 7, 2: 7, 3: 7, 4: 7, 5: 7, 14: 14 })).toBeNull();
  expect(usualOf({ 1: 7, 2: 7, 3: 7, 4: 7, 5: 7, 14: 14, 29: 0, 0: 0 })).toBeNull();
});
