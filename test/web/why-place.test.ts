import { expect, test } from 'vitest';
import type { Explained } from '../../src/web/facts/answers.ts';
import { GUTTER, placeWhy, READINGS_HEIGHT, READINGS_TOP } from '../../src/web/pictures/why-place.ts';

const WIDTH = GUTTER + 240;
/** A day of 24 hours. Of an explanation only its bounds are read. */
const day = { start: '2026-06-04T22:00:00.000Z', end: '2026-06-05T22:00:00.000Z' } as Explained;
const hour = (count: number) => Date.parse(day.start) + count * 3_600_000;

test('the day fills the width right of the labels, from its first to its last instant', () => {
  const { x } = placeWhy(day, { low: 0, high: 4_000, isPower: true }, WIDTH);
  expect([0, 12, 24].map((count) => x(hour(count)))).toEqual([GUTTER, GUTTER + 120, GUTTER + 240]);
});

test.each([
  ['power', { low: 0, high: 4_000, isPower: true }],
  ['a register', { low: 1_000_000, high: 1_004_000, isPower: false }],
])('higher values of %s are further up, and values beyond the scale are at its edge', (_, range) => {
  const { y, scale } = placeWhy(day, range, WIDTH);
  expect(scale.low).toBeLessThanOrEqual(range.low);
  expect(scale.high).toBeGreaterThanOrEqual(range.high);
  const bottom = READINGS_TOP + READINGS_HEIGHT;
  expect([scale.low, (scale.low + scale.high) / 2, scale.high].map(y)).toEqual([
    bottom,
    READINGS_TOP + READINGS_HEIGHT / 2,
    READINGS_TOP,
  ]);
  expect([scale.low - 1, scale.high + 1, 1e12].map(y)).toEqual([bottom, READINGS_TOP, READINGS_TOP]);
});

test('the scale of a register is close to its values, and that of power has their unit', () => {
  const register = placeWhy(day, { low: 1_000_000, high: 1_004_000, isPower: false }, WIDTH);
  expect(register.scale.low).toBeGreaterThan(900_000);
  const power = placeWhy(day, { low: 0, high: 4_000, isPower: true }, WIDTH);
  expect([power.unit, register.unit].map(({ name }) => name)).toEqual(['kW', 'MWh']);
});
