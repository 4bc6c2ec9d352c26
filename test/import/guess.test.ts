import { describe, expect, test } from 'vitest';
import { guessTimeFormat } from '../../src/foreign-table/guess-time-format.ts';
import { guessMapping } from '../../src/import/guess-mapping.ts';
import { openReader } from '../../src/import/open-reader.ts';
import { sampleFile } from '../../src/import/sample-file.ts';
import { InputError } from '../../src/lib/errors.ts';
import { DEVICE, fileOf, parquetOf, preview, testWorkgroup } from './import-fixture.ts';

const workgroup = testWorkgroup({
  timezone: 'Europe/Berlin',
  devices: [{ id: DEVICE, name: 'garage' }],
  energyStreams: [{ table: 't', field: 'total_kwh', method: 'total_energy', unit: 'kWh' }],
});

async function guess(path: string) {
  const reader = await openReader(path, { threads: 1 });
  try {
    return guessMapping(path, await sampleFile(reader), workgroup, 't');
  } finally {
    reader.close();
  }
}

/** The mapping that is guessed for a file, and the first row that it gives. */
async function guessed(path: string) {
  const mapping = await guess(path);
  const { rows, counts } = await preview(path, mapping, workgroup);
  return { mapping, row: rows[0], counts };
}

describe('the columns of', () => {
  test('an inverter log in German, with decimal commas and a serial number', async () => {
    const file = fileOf(
      'log.csv',
      'Zeit;Seriennummer;Total kWh;P_AC;Status\n01.07.2024 12:00;SN-7;1234,5;812,25;MPP\n01.07.2024 12:05;SN-7;1234,6;;Störung\n',
    );
    const { mapping, row } = await guessed(file);
    expect(mapping).toMatchObject({
      csv: { delimiter: ';', header: true },
      time: { column: ['Zeit'], format: '%d.%m.%Y %H:%M', zone: 'Europe/Berlin' },
      device: { column: 'Seriennummer', unknown: 'derive', names: { 'SN-7': expect.any(String) } },
      fields: { 'Total kWh': 'total_kwh', P_AC: 'P_AC' },
      decimal: ',',
    });
    expect(row).toMatchObject({
      time: '2024-07-01T10:00:00.000Z',
      device: mapping.device.names['SN-7'],
      fields: { total_kwh: 1234.5, P_AC: 812.25 },
    });
  });

  test('a table with instants, UUIDs and sources', async () => {
    const file = fileOf(
      'log.csv',
      `event_time,device_id,source,total_kwh,note\n2024-07-01T12:00:00Z,${DEVICE},east,5,x\n`,
    );
    const { mapping, row } = await guessed(file);
    expect(mapping.time).toEqual({ column: ['event_time'], format: 'iso' });
    expect(mapping.device).toMatchObject({ column: 'device_id', unknown: 'reject' });
    expect(row).toEqual({
      time: '2024-07-01T12:00:00.000Z',
      device: DEVICE,
      source: 'east',
      fields: { total_kwh: 5 },
    });
  });

  test('a log of one device with date and time of day apart', async () => {
    const { mapping, row } = await guessed(
      fileOf('log.csv', 'Date,Time,Power (W)\n2024-07-01,12:00:00,5\n2024-07-01,12:05:00,6\n'),
    );
    expect(mapping.time).toEqual({ column: ['Date', 'Time'], format: 'iso', zone: 'Europe/Berlin' });
    expect(row).toMatchObject({
      time: '2024-07-01T10:00:00.000Z',
      device: DEVICE,
      fields: { 'Power (W)': 5 },
    });
  });

  test('a long table with a value a row', async () => {
    const file = fileOf(
      'log.csv',
      'ts,entity_id,state\n1719835200,sensor.total,5\n1719835200,sensor.power,7.5\n1719835260,sensor.power,8\n',
    );
    const { mapping, row } = await guessed(file);
    expect(mapping).toMatchObject({
      time: { column: ['ts'], format: 'seconds' },
      device: { id: DEVICE },
      long: { field: 'entity_id', value: 'state' },
    });
    expect(row).toMatchObject({ time: '2024-07-01T12:00:00.000Z', fields: { 'sensor.total': 5 } });
  });

  test('objects within objects, and Parquet', async () => {
    const json = fileOf(
      'log.ndjson',
      `{"event_time":1719835200000,"device":"${DEVICE}","data":{"total_kwh":5,"state":"run"}}\n`,
    );
    expect((await guessed(json)).row).toMatchObject({
      time: '2024-07-01T12:00:00.000Z',
      device: DEVICE,
      fields: { total_kwh: 5 },
    });
    const parquet = await parquetOf(
      "SELECT TIMESTAMP '2024-07-01 12:00:00' AS t, 'garage' AS device, 5.5 AS total_kwh",
    );
    expect((await guessed(parquet)).row).toMatchObject({
      time: '2024-07-01T10:00:00.000Z',
      device: DEVICE,
      fields: { total_kwh: 5.5 },
    });
  });

  test.each([
    ['a,b\n1,2\n', /no column looks like a time/],
    ['time,b\n2024-07-01T12:00:00Z,x\n', /no column looks like a number/],
    ['time,device,b\n2024-07-01T12:00:00Z,\0x,1\n', /device: contains a NUL character/],
  ])('%j has no mapping that can be guessed', async (text, message) => {
    await expect(guess(fileOf('log.csv', text))).rejects.toThrow(message);
  });

  test('a column with a name that is too long for a mapping is reported', async () => {
    const name = 'p'.repeat(513);
    const guessing = guess(fileOf('log.csv', `time,${name}\n2024-07-01T12:00:00Z,1\n`));
    await expect(guessing).rejects.toThrow(InputError);
    await expect(guessing).rejects.toThrow(/fields\.p+: must have at most 512 characters/);
  });
});

describe('a time', () => {
  test.each([
    [['2024-07-01T12:00:00Z'], 'iso'],
    [['2024-07-01 12:00'], 'iso'],
    [['1719835200'], 'seconds'],
    [['1719835200000'], 'milliseconds'],
    [['1719835200000000'], 'microseconds'],
    [['01.07.2024 12:00:00', '31.07.2024 12:00:00'], '%d.%m.%Y %H:%M:%S'],
    [['01/07/2024 12:00', '13/07/2024 12:00'], '%d/%m/%Y %H:%M'],
    [['07/01/2024 12:00', '07/13/2024 12:00'], '%m/%d/%Y %H:%M'],
    // Day and month could be swapped. The times of a log ascend, so only one order fits.
    [['01/12/2024 00:00', '02/01/2024 00:00', '02/02/2024 00:00'], '%m/%d/%Y %H:%M'],
    [['02/12/2024 00:00', '03/12/2024 00:00', '01/01/2025 00:00'], '%d/%m/%Y %H:%M'],
    [['7/1/24 1:05 PM'], '%m/%d/%y %I:%M %p'],
    [['2024/07/01 12:00:00'], '%Y/%m/%d %H:%M:%S'],
  ])('%j is %s', (texts, format) => expect(guessTimeFormat(texts)?.format).toBe(format));

  test.each([[['noon']], [['12.5']], [[]]])('%j is none', (texts) =>
    expect(guessTimeFormat(texts)).toBeUndefined(),
  );
});
