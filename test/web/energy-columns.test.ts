import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Balances } from '../../src/web/facts/answers.ts';
import { balanceColumns, seriesColumns } from '../../src/web/facts/energy-columns.ts';
import { comparableOf, stack, totalOf } from '../../src/web/pictures/bar-data.ts';
import { shiftDay } from '../../src/web/words/local-days.ts';
import { columnTick } from '../../src/web/words/time-words.ts';
import { dayOfSeries, roof, today } from './support/days-of-series.ts';

const frame = (from: string, to: string) => ({ period: { from, to }, grain: 'day' as const, today });
const all = () => true;
const name = (key: string) => key;

describe('columns of series', () => {
  test('the series with the most energy comes first', () => {
    const { series } = seriesColumns(
      { '2026-11-19': { a: dayOfSeries(5), b: dayOfSeries(2) }, '2026-11-20': { b: dayOfSeries(9) } },
      all,
      name,
      frame('2026-11-19', '2026-11-20'),
    );
    expect(series.map(({ key }) => key)).toEqual(['b', 'a']);
  });

  test('a day without data is missing, days before the first data and after today are empty', () => {
    const { columns } = seriesColumns(
      { '2026-11-19': { a: dayOfSeries(5) }, '2026-11-20': {}, '2026-11-21': { a: dayOfSeries(0) } },
      all,
      name,
      frame('2026-11-18', '2026-11-23'),
    );
    expect(columns.map(({ state, values }) => [state, values[0]])).toEqual([
      ['before', null],
      ['measured', 5],
      ['missing', null],
      ['measured', 0],
      ['future', null],
      ['future', null],
    ]);
  });

  test('a day whose energy is not known has no energy, and not 0 Wh', () => {
    const { columns } = seriesColumns(
      { '2026-11-19': { a: dayOfSeries(5) }, '2026-11-20': { a: { ...dayOfSeries(0), energyWh: null } } },
      all,
      name,
      frame('2026-11-19', '2026-11-20'),
    );
    expect(columns.map(({ values }) => values)).toEqual([[5], [null]]);
  });

  test('eight series have their own colours, and of nine the two smallest are one', () => {
    const seriesOf = (count: number) => {
      const keys = Array.from({ length: count }, (_, index) => `s${index}`);
      const day = Object.fromEntries(keys.map((key, index) => [key, dayOfSeries(100 - index)]));
      return seriesColumns({ '2026-11-19': day }, all, name, frame('2026-11-19', '2026-11-19'));
    };
    expect(
      seriesOf(8)
        .series.map(({ key }) => key)
        .at(-1),
    ).toBe('s7');
    expect(seriesOf(9).series.slice(-2)).toMatchObject([{ key: 's6' }, { key: 'others', name: '2 others' }]);
    expect(seriesOf(9).columns[0]!.values.slice(-2)).toEqual([94, 93 + 92]);
  });

  test('status and flags are seen, the worst first, and what is missing is counted', () => {
    const { columns } = seriesColumns(
      {
        '2026-11-19': { a: dayOfSeries(5, { flags: ['reset'], status: 'restated' }), b: dayOfSeries(1) },
        '2026-11-20': { a: dayOfSeries(5, { flags: ['reset', 'contradicted'], status: 'provisional' }) },
        [today]: { a: dayOfSeries(2, { flags: ['partial'], status: 'provisional' }), b: dayOfSeries(1) },
      },
      all,
      name,
      frame('2026-11-19', today),
    );
    expect(columns.map(({ mark }) => mark)).toEqual(['restated', 'bad', undefined, undefined]);
    expect(columns[1]!.state).toBe('provisional');
    expect(columns[1]!.notes.slice(1)).toEqual([
      'provisional',
      'no data of 1\u00a0source',
      'contradicted',
      'reset',
    ]);
  });

  test('today is not called incomplete, because it is not over', () => {
    const ofToday = {
      a: dayOfSeries(2, { flags: ['partial'] }),
      b: dayOfSeries(1, { flags: ['partial', 'reset'] }),
    };
    const { columns } = seriesColumns({ [today]: ofToday }, all, name, frame(today, today));
    expect(columns[0]!.notes.slice(1)).toEqual(['until now', 'reset (1 of 2)']);
  });

  test('nothing is lost: the series, the others and the months add up to the energy', {
    tags: ['slow'],
  }, () => {
    const days = fc.dictionary(
      fc.integer({ min: 0, max: 120 }).map((back) => shiftDay(today, -back)),
      fc.dictionary(fc.constantFrom(...'abcdefghijkl'), fc.integer({ min: 0, max: 1e6 })),
    );
    fc.assert(
      fc.property(days, fc.constantFrom('day', 'month', 'year'), (energy, grain) => {
        const period = { from: shiftDay(today, -120), to: today };
        const { series, columns } = seriesColumns(energy, all, name, { period, grain, today });
        const sum = Object.values(energy).reduce(
          (total, values) => total + Object.values(values).reduce((a, b) => a + b, 0),
          0,
        );
        expect(series.length).toBeLessThanOrEqual(8);
        expect(columns.reduce((total, column) => total + (totalOf(column, series) ?? 0), 0)).toBe(sum);
        const length = { day: 10, month: 7, year: 4 }[grain];
        const known = new Set(
          Object.entries(energy).flatMap(([day, values]) =>
            Object.keys(values).length > 0 ? [day.slice(0, length)] : [],
          ),
        );
        for (const column of columns) {
          // Energy that is not known is not 0.
          expect(totalOf(column, series) !== null).toBe(known.has(column.key));
          const ends = stack(column, series).map(({ to }) => to);
          expect(Math.max(0, ...ends)).toBe(totalOf(column, series) ?? 0);
        }
      }),
    );
  });

  test('a month says how many of its days have data', () => {
    const { columns } = seriesColumns({ '2026-10-01': { a: 1 }, '2026-11-01': { a: 1 } }, all, name, {
      period: { from: '2026-10-01', to: '2026-11-30' },
      grain: 'month',
      today,
    });
    expect(columns.map(({ notes, mark }) => [notes[1], mark])).toEqual([
      ['1 of 31\u00a0days with data', 'doubtful'],
      ['1 of 22\u00a0days with data', 'doubtful'],
    ]);
  });
});

test('a total is that of one side, and a total of which nothing is known is not 0', () => {
  const side = (key: string, value: 1 | -1) => ({ key, name: key, tone: key, side: value });
  const twoSides = [side('production', 1), side('grid_import', 1), side('consumption', -1)];
  const totals = (rows: Array<Array<number | null>>) => rows.map((values) => totalOf({ values }, twoSides));
  expect(
    totals([
      [10, 2, 7],
      [10, null, 7],
      [0, null, 7],
      [null, null, 7],
      [null, null, null],
    ]),
  ).toEqual([12, 10, 0, null, null]);
  const below = [side('consumption', -1), side('grid_export', -1)];
  expect(
    [
      [7, 1],
      [null, 0],
      [null, null],
    ].map((values) => totalOf({ values }, below)),
  ).toEqual([8, 0, null]);
  expect(comparableOf({ values: [null, 2, 7] }, twoSides)).toBeNull();
  expect(comparableOf({ values: [null, null] }, below)).toBeNull();
});

test('a day with readings and without a balance is a gap, even if it is the first', () => {
  const unknown = {
    productionWh: null,
    parts: [{ device: roof, source: 'pv', role: 'production', wh: null, within: null }],
    computed: [],
    missing: ['production'],
  } as unknown as Balances[string];
  const { columns } = balanceColumns(
    { '2026-11-19': unknown, '2026-11-20': unknown },
    // Without a flag, which would be a separate mark.
    { '2026-11-20': { [`${roof}.pv`]: dayOfSeries(5) } },
    frame('2026-11-19', '2026-11-20'),
  );
  expect(columns.map(({ state }) => state)).toEqual(['before', 'missing']);
});

test('a balance stands on both sides, a role that a site does not have is left out, and production is compared', () => {
  const balance = {
    productionWh: 10,
    consumptionWh: 7,
    gridImportWh: null,
    gridExportWh: 3,
    batteryChargeWh: 0,
    batteryDischargeWh: 0,
    parts: [{ device: roof, source: 'pv', role: 'production', wh: 10, within: null }],
    computed: ['consumption'],
    missing: ['grid_import'],
    days: null,
    completeDays: null,
  } as unknown as Balances[string];
  const { series, columns } = balanceColumns(
    { '2026-11-20': balance },
    undefined,
    frame('2026-11-20', '2026-11-20'),
  );
  expect(series.map(({ key, side }) => [key, side])).toEqual([
    ['production', 1],
    ['grid_import', 1],
    ['consumption', -1],
    ['grid_export', -1],
  ]);
  expect(columns[0]!.values).toEqual([10, null, 7, 3]);
  expect(stack(columns[0]!, series).map(({ from, to }) => [from, to])).toEqual([
    [0, 10],
    [0, -7],
    [-7, -10],
  ]);
  expect(comparableOf(columns[0]!, series)).toBe(10);
});

test('a day of which a part is measured has no balance, and is not said to have no data', () => {
  const empty = { productionWh: null, consumptionWh: null, parts: [], missing: ['production'], computed: [] };
  const balance = { ...empty, days: null, completeDays: null } as unknown as Balances[string];
  const details = { '2026-11-20': { a: dayOfSeries(5, { flags: ['partial'] }) } };
  const days = frame('2026-11-19', '2026-11-20');
  const { columns } = balanceColumns({ '2026-11-19': balance, '2026-11-20': balance }, details, days);
  expect(columns.map(({ state, isPart }) => [state, isPart ?? false])).toEqual([
    ['before', false],
    ['missing', true],
  ]);
  expect(columns[1]!.notes[0]).toBe('only a part is measured, so the balance is not known');
});

test('the balance of today says that it ends with the last quarter of an hour that is known', () => {
  const balance = { productionWh: 5, consumptionWh: 1, parts: [], missing: [], computed: [] };
  const known = (days: number | null, completeDays: number | null) =>
    ({ ...balance, days, completeDays }) as unknown as Balances[string];
  const { columns } = balanceColumns({ [today]: known(null, null) }, undefined, frame(today, today));
  expect(columns[0]!.notes.slice(1)).toEqual(['up to the last quarter of an hour that is known']);
  const months = { '2026-10': known(31, 30), '2026-11': known(22, 21) };
  const period = { from: '2026-10-01', to: '2026-11-30' };
  const ofMonths = balanceColumns(months, undefined, { period, grain: 'month', today });
  expect(ofMonths.columns.map(({ notes, mark }) => [notes[1], mark])).toEqual([
    ['30 of 31\u00a0days with data', 'doubtful'],
    // The day that is missing can be today.
    ['21 of 22\u00a0days with data', undefined],
  ]);
});

test('the axis of months has the year at its beginning and in each January', () => {
  const months = ['2025-11', '2025-12', '2026-01', '2026-02'];
  expect(months.map((month) => /\d{4}/.test(columnTick(month, '2025-11-01')))).toEqual([
    true,
    false,
    true,
    false,
  ]);
});
