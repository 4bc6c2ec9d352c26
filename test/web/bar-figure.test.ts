import { expect, test } from 'vitest';
import type { BarColumn, BarSeries } from '../../src/web/pictures/bar-data.ts';
import { BarFigure } from '../../src/web/pictures/bar-figure.tsx';
import { renderPart } from './support/render-part.ts';

const solar: BarSeries = { key: 'solar', name: 'Solar', tone: '1', side: 1 };
const house: BarSeries = { key: 'house', name: 'House', tone: '2', side: 1 };
const used: BarSeries = { key: 'used', name: 'Used', tone: '3', side: -1 };
const column = (values: Array<number | null>, changed: Partial<BarColumn> = {}): BarColumn => ({
  ...{ key: values.join(), tick: '', name: 'May 16', values, state: 'measured', notes: [] },
  ...changed,
});
const part = (columns: BarColumn[], series = [solar, house], referenceName?: string) =>
  renderPart(BarFigure, {
    ...{ sentence: 'It was sunny.', label: 'Energy', columns, series, wholeName: 'May 2026', referenceName },
  });

test('the legend has the sum of each series, and of all', () => {
  expect(part([column([100, 20]), column([300, 5])]).lines).toEqual([
    'It was sunny.',
    'May 2026 425 Wh {425}',
    '[Solar 400 Wh {400}] <Highlight this series>',
    '[House 25 Wh {25}] <Highlight this series>',
  ]);
});

test('energy that comes in and energy that goes out are not added up, and the other period has its sum', () => {
  const columns = [column([100, 20], { reference: 90 }), column([300, 1], { reference: null })];
  expect(part(columns, [solar, used], 'the week before').lines).toEqual([
    'It was sunny.',
    'May 2026 the week before 90 Wh {90}',
    '[Solar 400 Wh {400}] <Highlight this series>',
    '[Used 21 Wh {21}] <Highlight this series>',
  ]);
});

test('what nobody knows is a dash, and columns that have not begun are no gap', () => {
  const nothing = [null, null];
  expect(part([column(nothing, { state: 'future' }), column(nothing, { state: 'before' })]).lines).toEqual([
    'It was sunny.',
    'May 2026 – <not known>',
    '[Solar – <not known>] <Highlight this series>',
    '[House – <not known>] <Highlight this series>',
  ]);
  expect(part([column(nothing, { state: 'missing' })]).lines.at(-1)).toBe('no data, which is not zero');
  expect(part([column([1, null])]).lines.at(-1)).toBe('no data, which is not zero');
});

test('columns that can still change are explained, also without any mark', () => {
  expect(part([column([1, 1], { state: 'provisional' })]).lines.slice(4)).toEqual([
    'provisional, can still change',
  ]);
});

test('each mark of the columns has its meaning, the worst first', () => {
  const marks = ['restated', 'noted', 'doubtful', 'bad', 'bad'] as const;
  const columns = marks.map((mark) => column([1, 1], { mark }));
  expect(part([column([1, 1], { state: 'provisional' }), ...columns]).lines.slice(4)).toEqual([
    'provisional, can still change',
    'not to be trusted',
    'partly a guess',
    'repaired, right',
    'restated after it was final',
  ]);
});
