import { expect, test } from 'vitest';
import { fileOfRows, qualityOfRow, rowsOfColumns, unitOfSum } from '../../src/web/facts/rows-of-columns.ts';
import { sumOfKnown } from '../../src/web/facts/sum-of-known.ts';
import { type BarColumn, isKnownInPart } from '../../src/web/pictures/bar-data.ts';
import { energyUnit } from '../../src/web/words/number-words.ts';

const side = (key: string, value: 1 | -1) => ({ key, name: key, tone: key, side: value });

function column(values: Array<number | null>, more: Partial<BarColumn> = {}): BarColumn {
  return { key: '2026-11-20', tick: '20', name: 'Fri', values, state: 'measured', notes: [], ...more };
}

test('a table has the columns that have begun, and the sums of what is known', () => {
  const series = [side('a', 1), side('b', 1), side('c', 1)];
  const known = [
    column([1, 2, null]),
    column([null, -3_000, null]),
    column([null, null, null], { state: 'missing' }),
  ];
  const outside = [
    column([900_000_000, null, null], { state: 'before' }),
    column([7, null, null], { state: 'future' }),
  ];
  const { rows, unit, sums, whole } = rowsOfColumns({
    series,
    columns: [outside[0]!, ...known, outside[1]!],
  });
  expect(rows).toEqual(known);
  // Of the value that is furthest from 0.
  expect(unit.name).toBe('kWh');
  expect(sums).toEqual([1, -2_998, null]);
  expect(whole).toBe(-2_997);
  expect(rowsOfColumns({ series, columns: [] })).toMatchObject({
    unit: { name: 'Wh' },
    sums: [null, null, null],
    whole: null,
  });
});

test('one series, and energy of both sides of a site, are not added up', () => {
  const wholeOf = (...sides: Array<1 | -1>) =>
    rowsOfColumns({ series: sides.map((one) => side('a', one)), columns: [column(sides.map(() => 5))] })
      .whole;
  expect(wholeOf(1)).toBeUndefined();
  expect(wholeOf(1, -1)).toBeUndefined();
  expect(wholeOf(1, 1)).toBe(10);
  expect(wholeOf(-1, -1)).toBe(10);
});

test('a sum is in a unit that fits it, and not in a smaller one than its values', () => {
  const names = [900, 1_000, -2_500_000, null].map((wh) => unitOfSum(wh, energyUnit(5_000)).name);
  expect(names).toEqual(['kWh', 'kWh', 'MWh', 'kWh']);
});

test('a row says what is beside its energy, and a gap what it is', () => {
  const notes = ['5 Wh', 'partial', 'reset'];
  expect(qualityOfRow(column([5], { notes }))).toBe('partial, reset');
  expect(qualityOfRow(column([5], { notes: ['5 Wh'] }))).toBe('');
  expect(qualityOfRow(column([null], { notes: ['no data', 'reset'], state: 'missing' }))).toBe('no data');
});

test('a file has the key, all Wh and the quality of each row', () => {
  const { heading, row } = fileOfRows([side('pv', 1), side('load', -1)]);
  expect(heading).toEqual(['period', 'pv (Wh)', 'load (Wh)', 'quality']);
  expect(row(column([5, null], { notes: ['5 Wh', 'partial', 'reset'] }))).toEqual([
    '2026-11-20',
    5,
    null,
    'partial; reset',
  ]);
});

test('what is not known is left out of a sum, and a sum of which nothing is known is not 0', () => {
  expect([[1, null, 2, undefined], [0, null], [null, undefined], []].map(sumOfKnown)).toEqual([
    3,
    0,
    null,
    null,
  ]);
});

test('a column is known in part if one of its bars is missing, but not if all are or if it has not begun', () => {
  const inPart = (values: Array<number | null>, state: BarColumn['state']) =>
    isKnownInPart(column(values, { state }));
  expect([inPart([1, null], 'measured'), inPart([1, null], 'provisional')]).toEqual([true, true]);
  expect([inPart([1, 0], 'measured'), inPart([null], 'missing')]).toEqual([false, false]);
  expect([inPart([null], 'before'), inPart([null], 'future')]).toEqual([false, false]);
});
