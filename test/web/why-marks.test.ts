import { expect, test } from 'vitest';
import type { ExplainedSource } from '../../src/web/facts/answers.ts';
import { pointsOf } from '../../src/web/facts/why-points.ts';
import { IntervalBars, UnusedKey, UnusedSign } from '../../src/web/pictures/why-marks.tsx';
import { placeWhy } from '../../src/web/pictures/why-place.ts';
import { makeExplained, makeSource } from './support/make-explained.ts';
import { renderPart } from './support/render-part.ts';

// 60 pixels of axis, and 10 pixels for each of the 96 quarters of an hour.
const place = placeWhy(makeExplained({}), { low: 0, high: 1_000, isPower: true }, 1_020);
const reading: ExplainedSource['readings'][number] = {
  time: '2026-05-15T22:15:00.000Z',
  value: 500,
  fate: 'used',
  reason: null,
  text: null,
  indexWh: null,
  batch: 'b1',
  landedAt: null,
};
const pointsWith = (...fates: Array<typeof reading.fate>) =>
  pointsOf(makeSource({ readings: fates.map((fate) => ({ ...reading, fate })) })).points;

test('each kind of unused reading has its sign, and a repeated one has none', () => {
  const pathOf = (fate: typeof reading.fate) =>
    renderPart(UnusedSign, { point: pointsWith(fate)[0]!, x: 10.04, y: 20 }).elements('path')[0]?.d;
  expect([pathOf('spike'), pathOf('standstill'), pathOf('repeated')]).toEqual([
    'M10.0 20.0m-4 -4l8 8m0 -8l-8 8',
    'M10.0 20.0m-4 0h8',
    undefined,
  ]);
});

test('the key names each sign once, and is absent without signs', () => {
  const points = pointsWith(
    'glitch',
    'spike',
    'standstill',
    'excluded',
    'revised',
    'rejected',
    'repeated',
    'spike',
  );
  expect(renderPart(UnusedKey, { points }).lines).toEqual([
    'glitch, left out',
    'spike, left out',
    'standstill, spread',
    'excluded by a person',
    'revised',
    'rejected',
  ]);
  expect(renderPart(UnusedKey, { points: pointsWith('repeated') }).lines).toEqual([]);
});

test('the largest quarter of an hour has the whole height, and a guess is marked', () => {
  const intervals = [
    { start: '2026-05-15T22:00:00.000Z', energyWh: 1_500, exactWh: null, coveredMilliseconds: 900_000 },
    { start: '2026-05-15T22:15:00.000Z', energyWh: -750, exactWh: null, coveredMilliseconds: 0 },
  ];
  const drawn = renderPart(IntervalBars, { source: makeSource({ intervals }), place, zone: 'Europe/Berlin' });
  // The bars end at 254 + 70 = 324.
  expect(
    drawn.elements('rect').map(({ class: name, x, width, y, height }) => [name!.trim(), x, width, y, height]),
  ).toEqual([
    ['interval-bar', '60', '9', '254', '70'],
    ['interval-bar guess', '70', '9', '289', '35'],
  ]);
  expect(drawn.lines.join(' ')).toContain('1.50kWh');
  expect(drawn.lines.join(' ')).toContain('00:00: 1,500 Wh');
  expect(drawn.lines.join(' ')).toContain('00:15: -750 Wh');
  expect(drawn.elements('line')).toMatchObject([{ x1: '60', x2: '80' }]);
});

test('without intervals the axis has no length', () => {
  const drawn = renderPart(IntervalBars, { source: makeSource({}), place, zone: 'Europe/Berlin' });
  expect(drawn.elements('line')).toMatchObject([{ x1: '60', x2: '60' }]);
});
