import { describe, expect, test } from 'vitest';
import { granularityOf } from '../../src/upload/budget-rows.ts';
import { parseColumnOption, uploadOptionsSchema } from '../../src/upload/upload-options.ts';
import { readBudgets, readMeters, refusalOf } from './upload-fixture.ts';

const HOUR = 3_600_000;
const intervals = (...rows: string[]) =>
  ['meter_code,interval_start,interval_end,energy_kwh', ...rows.map((row) => `GRID-1,${row}`)].join('\n');

describe('an interval', () => {
  test('lasts longer than nothing, and at most 400 days', () => {
    const until = (end: string) => intervals(`2025-01-01T00:00Z,${end},1`);
    expect(readMeters(until('2026-02-05T00:00Z'))).toHaveLength(1);
    expect(refusalOf(() => readMeters(until('2026-02-05T00:00:01Z')))).toEqual([
      expect.stringContaining('2:interval_end: the interval is longer than 400 days'),
    ]);
    expect(refusalOf(() => readMeters(until('2025-01-01T00:00Z')))).toEqual([
      expect.stringContaining('2:interval_end: the interval ends'),
    ]);
  });

  test('has an energy from 0 to the most that a meter counts', () => {
    const of = (energy: string) => intervals(`2025-01-01T00:00Z,2025-01-01T01:00Z,${energy}`);
    expect(['0', '1e12', '0.0000004'].map((energy) => readMeters(of(energy))[0]!.energyWh)).toEqual([
      0, 1e15, 0,
    ]);
    expect(refusalOf(() => readMeters(of('1.001e12')))).toHaveLength(1);
  });

  test('overlaps also one that began before its neighbour', () => {
    const rows = ['01,2025-01-09T00:00Z,1', '02,2025-01-03T00:00Z,1', '05,2025-01-06T00:00Z,1'];
    expect(
      refusalOf(() => readMeters(intervals(...rows.map((row) => `2025-01-${row.replace(',', 'T00:00Z,')}`)))),
    ).toEqual([
      '3:energy_kwh: overlaps the interval of line 2; leave one of them out',
      '4:energy_kwh: overlaps the interval of line 2; leave one of them out',
    ]);
    const touching = ['2025-01-02T00:00Z,2025-01-03T00:00Z,1', '2025-01-01T00:00Z,2025-01-02T00:00Z,1'];
    expect(readMeters(intervals(...touching))).toHaveLength(2);
  });

  test('of a file below other lines can have its end only', () => {
    const text = 'Plant: roof\n\nMeter-Code;Interval-End;Energy kWh\nGRID-1;2025-01-01T01:00Z;1';
    expect(readMeters(text, { options: { interval: HOUR } })).toMatchObject([
      { start: Date.UTC(2025, 0), end: Date.UTC(2025, 0) + HOUR, energyWh: 1_000 },
    ]);
  });

  test('is measured if its quality is empty, also as null in JSON', () => {
    const row = '2025-01-01T00:00Z,2025-01-01T01:00Z,1,';
    const text = intervals(row).replace('energy_kwh', 'energy_kwh,quality');
    expect(readMeters(text)).toMatchObject([{ quality: 'measured' }]);
    const item = {
      meter_code: 'GRID-1',
      interval_start: '2025-01-01T00:00Z',
      interval_end: '2025-01-01T01:00Z',
    };
    const json = JSON.stringify([{ ...item, energy_kwh: 1, quality: null }]);
    expect(readMeters(json, { format: 'json' })).toMatchObject([{ quality: 'measured' }]);
    const empty = JSON.stringify([{ ...item, energy_kwh: null }]);
    expect(refusalOf(() => readMeters(empty, { format: 'json' }))).toEqual([
      '1:energy_kwh: is empty; write a number, or remove the row',
    ]);
  });

  test.each([
    [',', 1_234],
    ['.', 1_234_000],
  ] as const)('has the decimal character that the user names (%s)', (decimal, energyWh) => {
    const text = intervals('2025-01-01T00:00Z,2025-01-01T01:00Z,"1,234"');
    expect(readMeters(text, { options: { decimal } })).toMatchObject([{ energyWh }]);
  });

  test('can have the unit of its column as an option, too, and no other one', () => {
    const text = intervals('2025-01-01T00:00Z,2025-01-01T01:00Z,1');
    expect(readMeters(text, { options: { unit: 'kWh' } })).toMatchObject([{ energyWh: 1_000 }]);
    expect(refusalOf(() => readMeters(text, { options: { unit: 'MWh' } }))).toEqual([
      '0:energy_kwh: is in kWh by its name, and in MWh by --unit; remove --unit',
    ]);
  });

  test('without a time names the empty cell', () => {
    expect(refusalOf(() => readMeters(intervals(',2025-01-01T01:00Z,1')))).toEqual([
      '2:interval_start: is empty',
    ]);
  });

  test('does not stand in a file with values of a register', () => {
    const text =
      'meter_code,time,value_kwh,interval_start,energy_kwh\nGRID-1,2025-01-01T00:00Z,1,2025-01-01T00:00Z,1';
    expect(refusalOf(() => readMeters(text))).toContain(
      '0:: has both energy of intervals and values of a register; remove the columns of one of them',
    );
  });
});

describe('a budget', () => {
  const options = { meter: 'PV', scenario: 'P50', year: 2026 };

  test('of hours counts them from 0, or from 1 to 24', () => {
    const day = (first: number) =>
      `month,day,hour,energy_kwh\n${Array.from({ length: 24 }, (_, hour) => `1,1,${hour + first},1`).join('\n')}`;
    for (const first of [0, 1])
      expect(readBudgets(day(first), { options })).toMatchObject([{ start: '2026-01-01', energyWh: 24_000 }]);
    expect(refusalOf(() => readBudgets(day(2), { options }))).toContainEqual(
      expect.stringMatching(/^25:hour: "25" is not an hour/),
    );
  });

  test.each(['Total', 'SUM', 'Summe', 'annual', 'Year'])('does not count a line "%s"', (total) => {
    const text = `month,energy_kwh\n1,5\n${total},5`;
    expect(readBudgets(text, { options })).toHaveLength(1);
  });

  test('has the year of its column, and not of the options', () => {
    expect(readBudgets('year,month,energy_kwh\n2027,1,5', { options })).toMatchObject([
      { start: '2027-01-01', end: '2027-01-31' },
    ]);
  });

  test('overlaps also a period that began before its neighbour', () => {
    const rows = ['01-01,2026-03-30,1', '01-05,2026-01-10,1', '03-01,2026-03-05,1'];
    const text = `start,end,energy_kwh\n${rows.map((row) => `2026-${row}`).join('\n')}`;
    expect(refusalOf(() => readBudgets(text, { options }))).toEqual([
      expect.stringMatching(/^3:start: overlaps the period of line 2/),
      expect.stringMatching(/^4:start: overlaps the period of line 2/),
    ]);
  });

  test.each([
    ['2026-01-01', '2026-12-31', 'year'],
    ['2026-02-01', '2026-12-31', 'other'],
    ['2026-01-01', '2027-12-31', 'other'],
    ['2028-02-01', '2028-02-29', 'month'],
    ['2028-02-01', '2028-02-28', 'other'],
    ['2026-01-02', '2026-01-31', 'other'],
    ['2026-01-01', '2026-01-01', 'day'],
  ])('from %s to %s is of the kind %s', (start, end, kind) => {
    expect(granularityOf({ start, end })).toBe(kind);
  });
});

describe('the options of an upload', () => {
  const parse = (options: object) => uploadOptionsSchema.safeParse(options).data;

  test('are read, with their units and names', () => {
    expect(parse({ interval: '15m', unit: 'KWH', year: '1970', delimiter: 'tab', decimal: ',' })).toEqual({
      interval: 900_000,
      unit: 'kWh',
      year: 1970,
      delimiter: '\t',
      decimal: ',',
    });
    expect(parse({ scenario: 'x'.repeat(64) })).toBeDefined();
    expect([parse({ interval: '1m' }), parse({ interval: '31d' })]).toEqual([
      { interval: 60_000 },
      { interval: 31 * 24 * HOUR },
    ]);
  });

  test.each([
    { interval: '59s' },
    { interval: '745h' },
    { interval: 'hour' },
    { unit: 'kW' },
    { unit: 'mwh' },
    { year: '1969' },
    { year: '2100' },
    { delimiter: '' },
    { delimiter: ';;' },
    { decimal: "'" },
    { timezone: '+02:00' },
    { scenario: ' ' },
    { scenario: 'x'.repeat(65) },
  ])('%j are refused', (options) => {
    expect(parse(options)).toBeUndefined();
  });

  test('name a column by its meaning', () => {
    expect(parseColumnOption('energy=a=b')).toEqual(['energy', 'a=b']);
    expect([parseColumnOption('energy'), parseColumnOption('power=a')]).toEqual([undefined, undefined]);
  });
});
