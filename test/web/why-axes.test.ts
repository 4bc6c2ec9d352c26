import { expect, test } from 'vitest';
import { HourAxis, ValueAxis } from '../../src/web/pictures/why-axes.tsx';
import { placeWhy } from '../../src/web/pictures/why-place.ts';
import { makeExplained } from './support/make-explained.ts';
import { renderPart } from './support/render-part.ts';

const hours = (width: number, day = {}) => {
  const place = placeWhy(makeExplained(day), { low: 0, high: 1_000, isPower: true }, width);
  return renderPart(HourAxis, { place, zone: 'Europe/Berlin' });
};
const texts = (drawn: ReturnType<typeof hours>) => drawn.lines.join('');

test('a wide picture names each third hour, and a narrow one each sixth, from 00:00 to 24:00', () => {
  expect(texts(hours(560))).toBe('00:0003:0006:0009:0012:0015:0018:0021:0024:00');
  expect(texts(hours(559))).toBe('00:0006:0012:0018:0024:00');
  // 60 pixels of axis, and 240 pixels for 24 hours.
  expect(
    hours(300)
      .elements('text')
      .map(({ x, 'text-anchor': anchor }) => `${x} ${anchor}`),
  ).toEqual(['60 start', '120 middle', '180 middle', '240 middle', '300 end']);
});

test('on a day of 25 hours the clock goes back, and its end has no name of its own', () => {
  // Each sixth hour that has passed: the second 02:00 makes all later ones an hour earlier.
  const october = { start: '2026-10-24T22:00:00.000Z', end: '2026-10-25T23:00:00.000Z' };
  expect(texts(hours(300, october))).toBe('00:0005:0011:0017:0023:00');
});

const values = (low: number, high: number, isPower: boolean) =>
  renderPart(ValueAxis, { place: placeWhy(makeExplained({}), { low, high, isPower }, 300) }).lines.join(' ');

test('ticks have the unit of the largest value, and as many digits as the range needs', () => {
  expect([values(0, 1_000, true), values(10_000_000, 10_000_400, false), values(0, 80, true)]).toEqual([
    'kW0.00.20.40.60.81.0',
    'MWh10.000010.000110.000210.000310.0004',
    'W020406080',
  ]);
});
