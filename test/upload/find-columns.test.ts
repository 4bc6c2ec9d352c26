import { describe, expect, test } from 'vitest';
import { findAmbiguous, findColumns } from '../../src/upload/find-columns.ts';

describe('the meaning of a column', () => {
  test.each<[name: string, role: string, unit: string | undefined]>([
    ['energy_kwh', 'energy', 'kWh'],
    ['AC System Output (kWh)', 'energy', 'kWh'],
    [' Energy [ MWh ] ', 'energy', 'MWh'],
    ['register value Wh', 'value', 'Wh'],
    ['interval-start', 'start', undefined],
    ['Meter ID', 'meter', undefined],
    ['meter_code', 'meter', undefined],
  ])('"%s" is the %s in %s', (name, role, unit) => {
    expect(findColumns(['other', name], {})).toEqual({ [role]: { index: 1, name, unit } });
  });

  test.each(['energy (apples)', 'energy_apples', 'meter code!', `${'x'.repeat(200)}_kwh`, ''])(
    '"%s" has none',
    (name) => {
      expect(findColumns([name], {})).toEqual({});
    },
  );

  test('a name of more than 200 characters has none, so it takes no time', () => {
    expect(findColumns([`energy${' '.repeat(190)}_kwh`], {})).toHaveProperty('energy');
    expect(findColumns([`energy${' '.repeat(191)}_kwh`], {})).toEqual({});
  });

  test('of several columns with one meaning, the most usual name counts and all are ambiguous', () => {
    const header = ['code', 'meter', 'energy_wh', 'hour'];
    expect(findColumns(header, {})).toMatchObject({
      meter: { index: 1 },
      energy: { index: 2 },
      hour: { index: 3 },
    });
    expect(findAmbiguous(header, {})).toEqual([
      {
        role: 'meter',
        columns: [
          { index: 1, name: 'meter', unit: undefined },
          { index: 0, name: 'code', unit: undefined },
        ],
      },
    ]);
  });

  test('a name that the user gives counts instead of the usual ones, as it is written', () => {
    const header = ['meter', 'Zähler', 'zähler', 'Zähler'];
    expect(findColumns(header, { meter: 'zähler' }).meter).toMatchObject({ index: 2, name: 'zähler' });
    expect(findAmbiguous(header, { meter: 'zähler' })).toEqual([]);
    expect(findAmbiguous(header, { meter: 'Zähler' })).toMatchObject([
      { role: 'meter', columns: [{ index: 1 }, { index: 3 }] },
    ]);
    expect(findColumns(header, { meter: 'none' })).toEqual({});
  });
});
