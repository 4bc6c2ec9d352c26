import { describe, expect, test } from 'vitest';
import { guessMapping } from '../../src/import/guess-mapping.ts';
import { LONE_DEVICE } from '../../src/import/import-devices.ts';
import { DEVICE, testWorkgroup } from './settings.ts';

const workgroup = testWorkgroup({
  devices: [{ id: DEVICE, name: 'garage' }],
  energyStreams: [
    { table: 't', field: 'total_kwh', method: 'total_energy', unit: 'kWh', unitField: 'unit' },
    { table: 'other', field: 'other_kwh', method: 'total_energy', unit: 'kWh' },
  ],
});

/** The mapping that is guessed for columns by name, each with its cells from the first row on. */
function guess(cells: Record<string, readonly string[]>, type = 'VARCHAR') {
  const lists = Object.values(cells);
  const columns = Object.keys(cells).map((name) => ({ name, type: name === 'at' ? type : 'VARCHAR' }));
  const rows = lists[0]!.map((_, row) => lists.map((list) => list[row] ?? null));
  return guessMapping('log.csv', { format: 'csv', columns, rows }, workgroup, 't');
}

const days = (count: number) =>
  Array.from({ length: count }, (_, index) => `2026-01-${String(index + 1).padStart(2, '0')}`);
const numbers = (count: number) => Array.from({ length: count }, (_, index) => `${index}.5`);

describe('the time', () => {
  test('is a column of which more than nine tenths are times', () => {
    const cells = (good: number) => [...days(good), ...Array<string>(20 - good).fill('soon')];
    expect(guess({ at: cells(19), power: numbers(20) }).time.column).toEqual(['at']);
    expect(() => guess({ at: cells(18), power: numbers(20) })).toThrow('no column looks like a time');
    expect(() => guess({ time: cells(18), power: numbers(20) })).toThrow(
      'column "time" is a time (iso) only in 90 % of the rows',
    );
  });

  test('is a column of seconds only if its name says so', () => {
    const seconds = ['1779015906', '1779015907'];
    expect(() => guess({ at: seconds, power: numbers(2) })).toThrow('no column looks like a time');
    expect(guess({ Zeit: seconds, power: numbers(2) }).time).toEqual({ column: ['Zeit'], format: 'seconds' });
  });

  test('is the named column, and else the one with the most times', () => {
    const all = { from: days(3), created_time: [...days(2), ''], until: days(3), power: numbers(3) };
    expect(guess(all).time.column).toEqual(['created_time']);
    const { created_time: _, ...unnamed } = { ...all, from: [...days(2), ''] };
    expect(guess(unnamed).time.column).toEqual(['until']);
  });

  test('is joined with a clock, unless it has a time of day', () => {
    const clock = ['12:00', '12:05'];
    expect(guess({ date: days(2), clock, power: numbers(2) }).time.column).toEqual(['date', 'clock']);
    const instants = days(2).map((day) => `${day}T12:00Z`);
    expect(guess({ date: instants, clock, power: numbers(2) }).time).toEqual({
      column: ['date'],
      format: 'iso',
    });
  });

  test('of a column of timestamps needs no zone if they have one', () => {
    const power = numbers(1);
    expect(guess({ at: ['1'], power }, 'TIMESTAMP WITH TIME ZONE').time).not.toHaveProperty('zone');
    expect(guess({ at: ['1'], power }, 'TIMESTAMP').time).toHaveProperty('zone', workgroup.timezone);
  });
});

describe('a field', () => {
  const fields = (cells: Record<string, readonly string[]>) => guess({ time: days(4), ...cells }).fields;

  test('is a column of which more than half are numbers, without counts', () => {
    expect(
      fields({
        power: ['1', '2', '3', 'x'],
        state: ['1', '2', 'x', 'x'],
        id: numbers(4),
        'Unnamed: 0': numbers(4),
        gone: ['', '-', 'NaN', ''],
      }),
    ).toEqual({ power: 'power' });
  });

  test('has the name of an energy stream of its table in any writing, also the field of its unit', () => {
    expect(
      fields({ 'Total kWh': numbers(4), UNIT: ['kWh', 'kWh', 'kWh', 'kWh'], 'Other kWh': numbers(4) }),
    ).toEqual({ 'Total kWh': 'total_kwh', UNIT: 'unit', 'Other kWh': 'Other kWh' });
  });

  test('of an object has the name of its last member, and no name twice', () => {
    expect(fields({ '/a/power': numbers(4), '/b/power': numbers(4) })).toEqual({ '/a/power': 'power' });
  });
});

describe('the device', () => {
  const device = (cells: Record<string, readonly string[]>) =>
    guess({ time: days(4), power: numbers(4), ...cells }).device;

  test('is a column of ids, of any name, or a column with the name of devices', () => {
    expect(device({ x: Array<string>(4).fill(DEVICE) })).toMatchObject({ column: 'x', unknown: 'reject' });
    expect(device({ inverter_id: ['1', '1', '2', '2'] })).toMatchObject({ column: 'inverter_id' });
    expect(device({ Meter: Array<string>(4).fill('garage') })).toMatchObject({ column: 'Meter', names: {} });
    expect(device({ '': ['a', 'a', 'b', 'b'], id: ['a', 'a', 'b', 'b'] })).toEqual({
      id: DEVICE,
      names: {},
      unknown: 'reject',
    });
  });

  test('is not a register that is called meter', () => {
    expect(device({ Zähler: numbers(4) })).toMatchObject({ id: DEVICE });
    expect(device({ Zähler: ['1', '2', '3', '4'] })).toMatchObject({ id: DEVICE });
  });

  test('gets ids for the first 100 of its names', () => {
    const count = 101;
    const texts = Array.from({ length: count }, (_, index) => `SN-${index}`);
    const time = texts.map((_, index) => new Date(index * 1_000).toISOString());
    const names = guess({ time, power: numbers(count), serial_no: texts }).device.names;
    expect([Object.keys(names).length, names['SN-100']]).toEqual([100, undefined]);
  });

  test('of a workgroup with several devices is not guessed', () => {
    const two = testWorkgroup({ devices: [{ id: DEVICE }, { id: DEVICE.replace('0', '1') }] });
    const columns = ['time', 'power'].map((name) => ({ name, type: 'VARCHAR' }));
    const sample = { format: 'csv', columns, rows: [[days(1)[0]!, '1.5']] } as const;
    expect(guessMapping('log.csv', sample, two, 't').device.id).toBe(LONE_DEVICE);
  });
});

test('a long table has names that repeat', () => {
  const cells = (key: string[]) => ({ time: days(4), key, value: numbers(4) });
  expect(guess(cells(['a', 'b', 'a', 'b'])).long).toMatchObject({ field: 'key', value: 'value' });
  expect(guess(cells(['a', 'b', 'c', 'd']))).toMatchObject({ fields: { value: 'value' } });
});
