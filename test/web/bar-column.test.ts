import { expect, test } from 'vitest';
import { BarOfColumn, Mark } from '../../src/web/pictures/bar-column.tsx';
import { type BarColumn, type BarSeries, stack } from '../../src/web/pictures/bar-data.ts';
import { renderPart } from './support/render-part.ts';

const solar: BarSeries = { key: 'solar', name: 'Solar', tone: '1', side: 1 };
const used: BarSeries = { key: 'used', name: 'Used', tone: '2', side: -1 };
// 100 Wh are 100 pixels. Zero is at 226.
const given = { x: 50, band: 100, y: (value: number) => 226 - value, height: 300, onFocus: () => undefined };
function part(
  changed: Partial<BarColumn>,
  props: Partial<Parameters<typeof BarOfColumn>[0]> = {},
  series = [solar, used],
) {
  const column: BarColumn = {
    ...{
      key: '1',
      tick: '16',
      name: 'May 16',
      values: [100, 30],
      state: 'measured',
      notes: ['130 Wh', 'jump'],
    },
    ...changed,
  };
  return renderPart(BarOfColumn, {
    ...given,
    column,
    bars: stack(column, series),
    ...{ hasTick: true, isActive: false, isTabStop: false, bright: undefined },
    ...props,
  });
}
const rects = (drawn: ReturnType<typeof part>) =>
  drawn
    .elements('rect')
    .map(({ class: name, x, y, width, height }) => `${name!.trim()}: ${x} ${y} ${width} ${height}`);

test('bars stand on the axis, and those of the other side hang below it', () => {
  // A bar has at most 44 pixels of the band, in its middle: 50 + (100 - 44) / 2 = 78. The plot is from 26 to
  // 262.
  expect(rects(part({}))).toEqual([
    'column-ground: 50 26 100 236',
    'bar tone-1: 78 126 44 100',
    'bar tone-2: 78 226 44 30',
  ]);
});

test('a bar takes three quarters of a narrow band, and nearly all of a very narrow one', () => {
  const widthOf = (band: number) => part({}, { band }).elements('rect')[1]!.width;
  expect([widthOf(50), widthOf(6), widthOf(5), widthOf(1)]).toEqual(['38', '4.5600000000000005', '4.5', '1']);
});

test('a column without data is hatched as a whole, and one in part above its bar', () => {
  expect(rects(part({ values: [null, null], state: 'missing' }))).toEqual([
    'column-ground: 50 26 100 236',
    'missing-bar: 78 26 44 236',
  ]);
  expect(rects(part({ values: [100, null] }))).toEqual([
    'column-ground: 50 26 100 236',
    'bar tone-1: 78 126 44 100',
    'missing-bar: 78 117 44 8',
  ]);
  expect(rects(part({ values: [null, null], state: 'future' }))).toEqual(['column-ground: 50 26 100 236']);
});

test('the smallest bar can be seen, and the others fade beside the chosen one', () => {
  expect(rects(part({ values: [0.1, 30] }, { bright: 'used' })).slice(1)).toEqual([
    'bar tone-1 faded: 78 225.9 44 0.5',
    'bar tone-2: 78 226 44 30',
  ]);
});

test('a column that leads on is a link, and has its words', () => {
  const link = part({ href: '#/home/day' }, { isTabStop: true, isActive: true });
  expect(link.lines).toEqual(['16 {#/home/day} <May 16: 130 Wh: jump>']);
  expect(link.elements('a')[0]).toMatchObject({ class: 'column measured active', tabindex: '0' });
  const image = part({ state: 'provisional' }, { hasTick: false });
  expect(image.lines).toEqual(['<May 16: 130 Wh: jump>']);
  expect(image.elements('g')[0]).toMatchObject({ role: 'img', class: 'column provisional ', tabindex: '-1' });
});

test('each mark has its shape, below the bars', () => {
  expect(part({ mark: 'bad' }).elements('path')).toEqual([
    { class: 'mark mark-bad', d: 'M95 276L100 267L105 276Z' },
  ]);
  expect(part({}).elements('path')).toEqual([]);
  const shapes = (['bad', 'doubtful', 'noted', 'restated'] as const).map(
    (mark) => renderPart(Mark, { mark, x: 0, y: 0 }).elements('path')[0]!.d,
  );
  expect(new Set(shapes).size).toBe(4);
});
