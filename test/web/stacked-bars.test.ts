import { expect, test } from 'vitest';
import type { BarColumn, BarSeries } from '../../src/web/pictures/bar-data.ts';
import { DrawnBars } from '../../src/web/pictures/stacked-bars.tsx';
import { energyUnit } from '../../src/web/words/number-words.ts';
import { renderPart } from './support/render-part.ts';

const made: BarSeries = { key: 'made', name: 'Made', tone: '1', side: 1 };
const used: BarSeries = { key: 'used', name: 'Used', tone: '2', side: -1 };
const columns = (...values: BarColumn['values'][]): BarColumn[] =>
  values.map((one, index) => ({
    ...{ key: `${index}`, tick: `${index + 1}`, name: `May ${index + 1}`, values: one },
    ...{ state: 'measured', notes: [] },
  }));
// 44 pixels are for the labels, and each of four columns has 100. The plot is from 26 to 222 of 260.
const drawn = (changed: Partial<Parameters<typeof DrawnBars>[0]>) =>
  renderPart(DrawnBars, {
    ...{ label: 'Energy', columns: columns([400], [null], [100], [0]), series: [made] },
    ...{ unit: energyUnit(400), active: undefined, onActive: () => undefined, width: 444, height: 260 },
    ...changed,
  });
const bars = (picture: ReturnType<typeof drawn>) =>
  picture
    .elements('rect')
    .filter(({ class: name }) => name!.startsWith('bar'))
    .map(({ class: name, x, y, height }) => `${name!.trim()}: ${x} ${y} ${height}`);
const lines = (picture: ReturnType<typeof drawn>) =>
  picture.elements('line').map(({ class: name, x1, x2, y1, y2 }) => `${name}: ${x1} ${x2} ${y1} ${y2}`);

test('the largest column has the height of the scale, and each column its part of the width', () => {
  const picture = drawn({});
  expect(bars(picture)).toEqual(['bar tone-1: 72 26 196', 'bar tone-1: 272 173 49']);
  expect(picture.elements('svg')[0]).toMatchObject({ width: '444', height: '260', 'aria-label': 'Energy' });
});

test('values below the axis and a reference are within the scale', () => {
  const withReference = columns([200, 100], [200, 200]).map((column) => ({ ...column, reference: 800 }));
  const picture = drawn({ columns: withReference, series: [made, used] });
  // From -200 to 800: 196 pixels are 1,000 Wh, and zero is at 182.8.
  expect(bars(picture)).toEqual([
    'bar tone-1: 122 143.6 39.20000000000002',
    'bar tone-2: 122 182.8 19.599999999999994',
    'bar tone-1: 322 143.6 39.20000000000002',
    'bar tone-2: 322 182.8 39.19999999999999',
  ]);
  expect(picture.elements('path')).toContainEqual({
    class: 'reference',
    d: 'M44.0 26.0H244.0L244.0 26.0H444.0',
  });
});

test('the grid has the unit, a stronger line at zero, and fewer lines in a low picture', () => {
  const picture = drawn({ columns: columns([10]) });
  expect(picture.lines).toEqual(['Wh02468101 <May 1> <Energy>']);
  expect(lines(picture)).toEqual([
    'axis-line: 44 444 222 222',
    ...[182.8, 143.6, 104.4, 65.2, 26].map((y) => `grid-line: 44 444 ${y} ${y}`),
  ]);
  const ticksAt = (height: number) => lines(drawn({ columns: columns([10]), height })).length;
  expect([ticksAt(200), ticksAt(199)]).toEqual([6, 3]);
  // Energy below the axis has the sign of its side, so its labels have none.
  expect(drawn({ columns: columns([10]), series: [used] }).lines[0]).toMatch(/^Wh1086420/);
});

test('without any energy there is only the line of zero', () => {
  const picture = drawn({ columns: columns([0], [null]) });
  expect(lines(picture)).toEqual(['axis-line: 44 444 222 222']);
  expect(bars(picture)).toEqual([]);
});

test('only the last column can be reached with Tab, or the one that is read out', () => {
  const stops = (active: number | undefined) =>
    drawn({ active })
      .elements('g')
      .filter(({ class: name }) => name?.startsWith('column'))
      .map(({ class: name, tabindex }) => `${name!.trim()} ${tabindex}`);
  const other = 'column measured -1';
  expect(stops(undefined)).toEqual([other, other, other, 'column measured 0']);
  expect(stops(1)).toEqual([other, 'column measured active 0', other, other]);
});

test('labels that have no room are left out, and other series fade beside the chosen one', () => {
  const many = columns(...Array.from({ length: 40 }, () => [1, 1]));
  const picture = drawn({ columns: many, series: [made, used], bright: 'used' });
  expect(picture.lines[0]).toContain(' <May 1>2 <May 2> <May 3>4 <May 4> <May 5>6 <May 6>');
  expect(bars(picture).filter((bar) => bar.includes('faded'))).toHaveLength(40);
  expect(bars(picture)[0]).toMatch(/^bar tone-1 faded: /);
});
