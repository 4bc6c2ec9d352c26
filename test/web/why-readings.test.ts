import { expect, test } from 'vitest';
import type { ExplainedSource } from '../../src/web/facts/answers.ts';
import { type Point, pointsOf } from '../../src/web/facts/why-points.ts';
import { placeWhy } from '../../src/web/pictures/why-place.ts';
import {
  Events,
  ReadingLines,
  UncoveredTimes,
  UnusedReadings,
} from '../../src/web/pictures/why-readings.tsx';
import { makeExplained, makeSource } from './support/make-explained.ts';
import { renderPart } from './support/render-part.ts';

// 60 pixels of axis, and 40 pixels for each hour. 21 pixels are 100 W, and zero is at 26 + 210 = 236.
const placeOf = (isPower: boolean) => placeWhy(makeExplained({}), { low: 0, high: 1_000, isPower }, 1_020);
const place = placeOf(true);
const at = (hour: number) => new Date(Date.UTC(2026, 4, 15, 22) + hour * 3_600_000).toISOString();
type Fate = ExplainedSource['readings'][number]['fate'];
const pointsAt = (...readings: Array<[hour: number, value: number, fate?: Fate]>): Point[] =>
  pointsOf(
    makeSource({
      readings: readings.map(([hour, value, fate = 'used']) => ({
        ...{ time: at(hour), value, fate, batch: 'b1', reason: null, text: null, indexWh: null },
        landedAt: null,
      })),
    }),
  ).points;

test('times without readings are hatched, and a short one can be seen', () => {
  const uncovered = [
    { from: at(1), to: at(3) },
    { from: at(5), to: at(5.01) },
  ];
  const source = makeSource({ coverage: { coveredMilliseconds: 0, text: '', uncovered } as never });
  const rects = renderPart(UncoveredTimes, { source, place }).elements('rect');
  expect(rects).toMatchObject([
    { class: 'uncovered', x: '100', width: '80', y: '26', height: '210', fill: 'url(#why-hatch)' },
    { x: '260', width: '1' },
  ]);
});

test('what happened is marked and named, in three rows, and never beyond the end', () => {
  const event = (kind: string, from: number, to: number) =>
    ({
      kind,
      from: at(from),
      to: at(to),
      text: `${kind} here`,
    }) as unknown as ExplainedSource['events'][number];
  const events = [
    event('midnight', 0, 0),
    event('reset', 1, 2),
    event('jump', 2, 2),
    event('gap', 3, 4),
    event('reset', 23.5, 24),
  ];
  const picture = renderPart(Events, { source: makeSource({ events }), place });
  expect(picture.elements('rect').map(({ x, width, y, height }) => [x, width, y, height])).toEqual([
    ['99', '40', '26', '210'],
    ['139', '2', '26', '210'],
    ['179', '40', '26', '210'],
    ['999', '20', '26', '210'],
  ]);
  expect(picture.elements('text').map(({ x, y }) => [x, y])).toEqual([
    ['104', '38'],
    ['144', '51'],
    ['184', '64'],
    ['960', '38'],
  ]);
  expect(picture.lines.join('')).toBe('reset hereresetjump herejumpgap heregapreset herereset');
});

const lines = (
  points: readonly Point[],
  segments: Array<{ from: string; fromWh: number }>,
  isPower: boolean,
) =>
  renderPart(ReadingLines, {
    ...{ points, segments: segments as never, place: placeOf(isPower) },
  });

test('a power has an area down to zero, and a register has only its line', () => {
  const points = pointsAt([1, 100], [2, 300]);
  expect(lines(points, [], true).elements('path')).toEqual([
    { class: 'power-area', d: 'M100.0 215.0L140.0 173.0L140 236L100 236Z' },
    { class: 'reading-line', d: 'M100.0 215.0L140.0 173.0' },
  ]);
  expect(lines(points, [], true).elements('circle')).toMatchObject([
    { class: 'reading-dot', cx: '100', cy: '215', r: '2' },
    { cx: '140', cy: '173' },
  ]);
  expect(
    lines(points, [], false)
      .elements('path')
      .map(({ class: name }) => name),
  ).toEqual(['reading-line']);
});

test('each segment of a register has its own line', () => {
  const segments = [
    { from: at(1), fromWh: 500 },
    { from: at(3), fromWh: 100 },
  ];
  const picture = lines(pointsAt([1, 500], [2, 600], [3, 100], [4, 200]), segments, false);
  expect(picture.elements('path')).toHaveLength(2);
});

test('up to 300 readings have a dot each, and more are a line', () => {
  const many = (count: number) =>
    pointsAt(...Array.from({ length: count }, (_, index): [number, number] => [index / 100, 1]));
  expect(lines(many(300), [], true).elements('circle')).toHaveLength(300);
  expect(lines(many(301), [], true).elements('circle')).toEqual([]);
});

test('values beyond the scale are written out, unless the one before is too near', () => {
  const points = pointsAt(
    [1, 500, 'spike'],
    [2, 1_001, 'spike'],
    [4.5, 5_000, 'spike'],
    [7.1, -1, 'glitch'],
    [8, 1_000, 'standstill'],
    [9, 0, 'standstill'],
  );
  const picture = renderPart(UnusedReadings, { points, place });
  expect(picture.elements('path').map(({ d }) => d!.split('m')[0])).toEqual([
    'M100.0 131.0',
    'M140.0 26.0',
    'M240.0 26.0',
    'M344.0 236.0',
    'M380.0 26.0',
    'M420.0 236.0',
  ]);
  // 100 pixels from 140 to 240 are too few.
  expect(picture.elements('text')).toMatchObject([
    { class: 'outside', x: '148', y: '30' },
    { x: '352', y: '240' },
  ]);
  expect(picture.lines).toEqual(['1,001-1']);
});
