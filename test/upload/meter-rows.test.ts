import { expect, test } from 'vitest';
import { PROBLEMS_SHOWN_MAX, RefusedFile } from '../../src/upload/refusals.ts';
import { readMeters, refusalOf } from './upload-fixture.ts';

const HOUR = 3_600_000;
const heading = 'meter_code,interval_start,interval_end,energy_kwh';

test('an interval is read with its offset, its unit and the multiplier of its meter', () => {
  const [one, other] = readMeters(
    `${heading}\nGRID-1,2026-05-17T13:00+02:00,2026-05-17T13:15+02:00,1.25\nGRID-2,2026-05-17T11:00Z,2026-05-17T11:15Z,0.1\n`,
  );
  const start = Date.UTC(2026, 4, 17, 11);
  const end = start + HOUR / 4;
  expect(one).toEqual({
    line: 2,
    meter: 'GRID-1',
    start,
    end,
    energyWh: 1250,
    direction: 'import',
    quality: 'measured',
  });
  expect(other).toMatchObject({ meter: 'GRID-2', start, end, energyWh: 4000, direction: null });
});

test.each([
  { unit: 'Wh', wh: 2 },
  { unit: 'kWh', wh: 2000 },
  { unit: 'MWh', wh: 2_000_000 },
  { unit: 'MJ', wh: 555.556 },
])('the unit of an amount ($unit) follows from the column, its name or the options', ({ unit, wh }) => {
  const row = 'GRID-1,2026-01-01T00:00Z,2026-01-01T01:00Z,2';
  expect(readMeters(`meter_code,interval_start,interval_end,energy,unit\n${row},${unit}`)[0]!.energyWh).toBe(
    wh,
  );
  expect(readMeters(`meter_code,interval_start,interval_end,energy (${unit})\n${row}`)[0]!.energyWh).toBe(wh);
  expect(
    readMeters(`meter_code,interval_start,interval_end,energy\n${row}`, { options: { unit } })[0]!.energyWh,
  ).toBe(wh);
});

test('a row may say the unit in the name once more, or nothing', () => {
  const rows = ['kWh', 'kwh', ''].map(
    (unit, hour) => `GRID-1,2026-01-01T0${hour}:00Z,2026-01-01T0${hour + 1}:00Z,2,${unit}`,
  );
  const read = readMeters(`meter_code,interval_start,interval_end,energy_kwh,unit\n${rows.join('\n')}`);
  expect(read.map(({ energyWh }) => energyWh)).toEqual([2_000, 2_000, 2_000]);
});

test('a wrong unit is told once if it is that of the column, and for each line if each has its own', () => {
  const row = 'GRID-1,2026-01-01T00:00Z,2026-01-01T01:00Z,2';
  const told = (heading: string, rows: string[], unit?: string) =>
    refusalOf(() =>
      readMeters(`meter_code,interval_start,interval_end,${heading}\n${rows.join('\n')}`, {
        options: { ...(unit && { unit }) },
      }),
    ).map((problem) => problem.split(': ')[0]);
  expect(told('energy', [row, row, row], 'kvarh')).toEqual(['0:energy']);
  expect(told('energy,unit', [`${row},kvarh`, `${row},kWh`, `${row},kvarh`])).toEqual(['2:unit', '4:unit']);
});

test('semicolons, decimal commas and dates with dots are found out', () => {
  const [row] = readMeters(
    'Meter;Start;End;Energy [kWh]\nGRID-1;17.05.2026 00:00;18.05.2026 00:00;"1.234,5"\n',
    {
      options: { timezone: 'Europe/Berlin' },
    },
  );
  expect(row).toMatchObject({
    start: Date.UTC(2026, 4, 16, 22),
    end: Date.UTC(2026, 4, 17, 22),
    energyWh: 1_234_500,
  });
});

test('NDJSON and a JSON array give the same rows as CSV', () => {
  const item = {
    meter_code: 'GRID-1',
    interval_start: '2026-01-01T00:00Z',
    interval_end: '2026-01-01T00:15Z',
    energy: 1.5,
    unit: 'kWh',
  };
  const expected = readMeters(
    `meter_code,interval_start,interval_end,energy,unit\n${Object.values(item).join(',')}`,
  )[0];
  for (const text of [`\n${JSON.stringify(item)}\n`, JSON.stringify([item])])
    expect({ ...readMeters(text, { format: 'json' })[0], line: 2 }).toEqual(expected);
});

test('a byte order mark is not part of the first column name', () => {
  expect(readMeters(`\uFEFF${heading}\nGRID-1,2026-01-01T00:00Z,2026-01-01T00:15Z,1`)).toHaveLength(1);
});

test('if only starts or only ends are given, the length of the intervals is an option', () => {
  const options = { interval: HOUR / 4 };
  const [ofStart] = readMeters('meter_code,interval_start,energy_kwh\nGRID-1,2026-01-01T00:15Z,1', {
    options,
  });
  const [ofEnd] = readMeters('meter_code,interval_end,energy_kwh\nGRID-1,2026-01-01T00:30Z,1', { options });
  expect(ofStart).toEqual(ofEnd);
});

test('values of a register are read with their time', () => {
  const [row] = readMeters(
    'meter_code,time,value,unit,quality\nGRID-1,2026-01-01T00:00Z,1234.5,MWh,Estimated',
  );
  const at = Date.UTC(2026, 0);
  expect(row).toMatchObject({ start: at, end: at, energyWh: 1_234_500_000, quality: 'estimated' });
});

test('columns that are called otherwise can be named', () => {
  const [row] = readMeters('Zähler,von,bis,Menge\nGRID-1,2026-01-01T00:00Z,2026-01-01T00:15Z,7', {
    options: { unit: 'Wh', columns: { meter: 'Zähler', start: 'von', end: 'bis', energy: 'Menge' } },
  });
  expect(row).toMatchObject({ meter: 'GRID-1', energyWh: 7 });
});

const times = (start: string, end = '2026-12-31T00:00Z', energy = '1') =>
  `${heading}\nGRID-1,${start},${end},"${energy}"`;
const zone = { options: { timezone: 'Europe/Berlin' } };

test('an hour that comes twice is known by the order of the times of each meter', () => {
  const local = ['01:30', '02:00', '02:30', '02:00', '02:30', '03:00'];
  const utc = ['23:30', '00:00', '00:30', '01:00', '01:30', '02:00'];
  const startsMs = utc.map((time, index) => Date.parse(`2026-10-${index === 0 ? 24 : 25}T${time}Z`));
  const lines = local.flatMap((time) => ['GRID-1', 'GRID-2'].map((meter) => `${meter},2026-10-25 ${time},1`));
  const told = { options: { ...zone.options, interval: HOUR / 2 } };
  const rows = readMeters(['meter_code,interval_start,energy_kwh', ...lines].join('\n'), told);
  for (const meter of ['GRID-1', 'GRID-2'])
    expect(rows.filter((row) => row.meter === meter).map(({ start }) => start)).toEqual(startsMs);
});

test.each([
  [
    'a local time without a zone',
    times('2026-05-17 13:00'),
    {},
    /^2:interval_start: "2026-05-17 13:00" names no zone; .*--timezone/,
  ],
  [
    'a time that clocks showed twice',
    times('2026-10-25 02:30'),
    zone,
    /^2:interval_start: .*twice.*\+02:00 or \+01:00$/,
  ],
  ['a time that clocks never showed', times('2026-03-29 02:30'), zone, /^2:interval_start: .*never showed/],
  ['a date with slashes', times('05/06/2026 00:00'), zone, /^2:interval_start: .*the day or the month/],
  ['a day that does not exist', times('2026-02-30 00:00'), zone, /^2:interval_start: .*not a time/],
  ['a year that nobody means', times('0026-02-03T00:00Z'), zone, /^2:interval_start: .*1970 to 2099/],
  [
    'an interval that ends before it starts',
    times('2026-05-17T00:00Z', '2026-05-16T00:00Z'),
    {},
    /^2:interval_end: .*before it starts/,
  ],
  ['an interval of years', times('2024-05-17T00:00Z'), {}, /^2:interval_end: .*longer than 400 days/],
  ['a negative amount', times('2026-12-30T00:00Z', undefined, '-0.5'), {}, /^2:energy_kwh: -0.5 is negative/],
  [
    'a text for an amount',
    times('2026-12-30T00:00Z', undefined, 'n/a'),
    {},
    /^2:energy_kwh: "n\/a" is not a number/,
  ],
  ['no amount', times('2026-12-30T00:00Z', undefined, ''), {}, /^2:energy_kwh: is empty/],
  [
    'an amount of a planet',
    times('2026-12-30T00:00Z', undefined, '1e15'),
    {},
    /^2:energy_kwh: .*; check the unit/,
  ],
  [
    'a comma that can be either',
    times('2026-12-30T00:00Z', undefined, '1,234'),
    {},
    /^2:energy_kwh: "1,234" can be 1234 or 1.234; .*--decimal/,
  ],
  [
    'commas and points for fractions',
    `${times('2026-12-30T00:00Z', undefined, '1,5')}\nGRID-2,2026-01-01T00:00Z,2026-01-02T00:00Z,1.5`,
    {},
    /^3:energy_kwh: "1.5" is not a number with a decimal comma/,
  ],
  [
    'a unit of power',
    `meter_code,interval_start,interval_end,energy,unit\nGRID-1,2026-01-01T00:00Z,2026-01-01T01:00Z,2,kW`,
    {},
    /^2:unit: .*of power; use kWh if it is energy$/,
  ],
  [
    'a unit that does not exist',
    `meter_code,interval_start,interval_end,energy,unit\nGRID-1,2026-01-01T00:00Z,2026-01-01T01:00Z,2,kvarh`,
    {},
    /^2:unit: .*not a unit of energy/,
  ],
  [
    'no unit',
    'meter_code,interval_start,interval_end,energy\nGRID-1,2026-01-01T00:00Z,2026-01-01T01:00Z,2',
    {},
    /^0:energy: has no unit/,
  ],
  [
    'two units',
    `${heading}\nGRID-1,2026-01-01T00:00Z,2026-01-01T01:00Z,2`,
    { options: { unit: 'Wh' } },
    /^0:energy_kwh: is in kWh by its name, and in Wh by --unit/,
  ],
  [
    'a unit that is not the one in the name',
    `${heading},unit\nGRID-1,2026-01-01T00:00Z,2026-01-01T01:00Z,2,MWh`,
    {},
    /^2:unit: "MWh" is not the unit in the name of "energy_kwh"; correct one of them$/,
  ],
  [
    'a unit in each row and one for all of them',
    `meter_code,interval_start,interval_end,energy,unit\nGRID-1,2026-01-01T00:00Z,2026-01-01T01:00Z,2,kWh`,
    { options: { unit: 'Wh' } },
    /^0:unit: contains the units; remove --unit$/,
  ],
  [
    'a code that is not configured',
    `${heading}\nGRID-9,2026-01-01T00:00Z,2026-01-01T01:00Z,2`,
    {},
    /^2:meter_code: no meter has the code "GRID-9"; configured are GRID-1, GRID-2, PV/,
  ],
  [
    'a code in other case',
    `${heading}\ngrid-1,2026-01-01T00:00Z,2026-01-01T01:00Z,2`,
    {},
    /^2:meter_code: .*"GRID-1" is, and case matters/,
  ],
  [
    'a meter that is read by a device',
    `${heading}\nPV,2026-01-01T00:00Z,2026-01-01T01:00Z,2`,
    {},
    /^2:meter_code: the readings of PV come from device 7c9e/,
  ],
  [
    'no column of the meter',
    'interval_start,interval_end,energy_kwh\n2026-01-01T00:00Z,2026-01-01T01:00Z,2',
    {},
    /^0:meter_code: is missing.*--meter/,
  ],
  [
    'the meter said twice',
    `${heading}\nGRID-1,2026-01-01T00:00Z,2026-01-01T01:00Z,2`,
    { options: { meter: 'GRID-1' } },
    /^0:meter_code: .*remove --meter/,
  ],
  [
    'no column of the energy',
    'meter_code,interval_start,interval_end,amount\nGRID-1,2026-01-01T00:00Z,2026-01-01T01:00Z,2',
    {},
    /^0:energy: is missing.*"amount"/,
  ],
  [
    'no column of the time',
    'meter_code,energy_kwh\nGRID-1,2',
    {},
    /^0:interval_start: is missing, and interval_end too/,
  ],
  [
    'no end',
    'meter_code,interval_start,energy_kwh\nGRID-1,2026-01-01T00:00Z,2',
    {},
    /^0:interval_end: is missing.*--interval 15m/,
  ],
  [
    'an unknown quality',
    `${heading},quality\nGRID-1,2026-01-01T00:00Z,2026-01-01T01:00Z,2,good`,
    {},
    /^2:quality: "good" is not a quality/,
  ],
  [
    'intervals that overlap',
    `${times('2026-01-01T00:00Z', '2026-01-01T01:00Z')}\nGRID-1,2026-01-01T00:45Z,2026-01-01T01:45Z,1`,
    {},
    /^3:energy_kwh: overlaps the interval of line 2/,
  ],
  [
    'an interval that overlaps one before the last one',
    `${times('2026-01-01T00:00Z', '2026-01-01T04:00Z')}\nGRID-1,2026-01-01T01:00Z,2026-01-01T02:00Z,1\nGRID-1,2026-01-01T03:00Z,2026-01-01T05:00Z,1`,
    {},
    /^4:energy_kwh: overlaps the interval of line 2/m,
  ],
  [
    'a text that is too long for a unit',
    `${heading.replace('_kwh', '')},unit\nGRID-1,2026-01-01T00:00Z,2026-01-01T01:00Z,2,${'k'.repeat(21)}`,
    {},
    /^2:unit: "k{21}" is not a unit of energy, such as kWh$/,
  ],
  [
    'an interval twice',
    `${times('2026-01-01T00:00Z', '2026-01-01T01:00Z')}\n\nGRID-1,2026-01-01T01:00+01:00,2026-01-01T02:00+01:00,1`,
    {},
    /^4:energy_kwh: the same interval of the same meter as line 2/,
  ],
  [
    'a value of a register twice',
    'meter_code,time,value_kwh\nGRID-1,2026-01-01T00:00Z,1\nGRID-1,2026-01-01T00:00Z,2',
    {},
    /^3:time: the same time of the same meter as line 2/,
  ],
  [
    'intervals and registers at once',
    'meter_code,interval_start,interval_end,energy_kwh,time,value_kwh\nGRID-1,2026-01-01T00:00Z,2026-01-01T01:00Z,2,2026-01-01T00:00Z,1',
    {},
    /^0:: has both/,
  ],
  [
    'a row with a cell too many',
    `${times('2026-01-01T00:00Z')},9`,
    {},
    /^2:: has 5 cells, but 4 columns are named in line 1/,
  ],
  ['a quote that never ends', `${heading}\n"GRID-1,2026-01-01T00:00Z\n`, {}, /is not CSV/],
  ['nothing', '', {}, /^0:: is empty/],
  ['a heading alone', heading, {}, /^0:: has no row below its heading/],
  [
    'a column that is named and is not there',
    `${heading}\nGRID-1,2026-01-01T00:00Z,2026-01-01T01:00Z,2`,
    { options: { columns: { quality: 'Güte' } } },
    /^0:Güte: is named for quality, but the file has no such column/,
  ],
] as const)('%s is refused where it stands', (_, text, told, expected) => {
  expect(refusalOf(() => readMeters(text, told))).toContainEqual(expect.stringMatching(expected));
});

const german = 'Zähler;Beginn;Ende;Menge\nGRID-1;2026-01-01T00:00Z;2026-01-01T00:15Z;7\n';
test.each([
  ['UTF-16 with a mark', Buffer.from(`\uFEFF${german}`, 'utf16le')],
  ['UTF-16 without a mark', Buffer.from(german, 'utf16le')],
  ['UTF-16 in big-endian order', Buffer.from(`\uFEFF${german}`, 'utf16le').swap16()],
  ['Windows-1252', Buffer.from(german, 'latin1')],
])('%s is read', (_, bytes) => {
  const columns = { meter: 'Zähler', start: 'Beginn', end: 'Ende', energy: 'Menge' };
  const rows = readMeters(bytes, { options: { unit: 'Wh', columns } });
  expect(rows).toMatchObject([{ meter: 'GRID-1', energyWh: 7 }]);
});

test.each([
  ['UTF-32', Buffer.from('m\0\0\0e\0\0\0'), /^0:: is UTF-32, which cannot be read; save it as "CSV UTF-8"/],
  ['what is no text', Buffer.alloc(1_000, 1), /^0:: is not text/],
  [
    'lines of two encodings',
    Buffer.concat([Buffer.from(german), Buffer.from('Zähler', 'latin1')]),
    /^3:: the byte 0xE4 is not UTF-8, but other lines are; save the file as "CSV UTF-8"/,
  ],
])('%s is refused with how to save it', (_, bytes, expected) => {
  expect(refusalOf(() => readMeters(bytes))).toEqual([expect.stringMatching(expected)]);
});

test.each([
  ['a line that is no JSON', '{"meter_code":"GRID-1"}\n{', /^2:: is not a JSON object/],
  ['an item that is no object', '[1]', /^1:: is not an object/],
  ['a member that is an object', '[{"energy":{}}]', /^1:: "energy" is neither text nor a number/],
])('%s is refused', (_, text, expected) => {
  expect(refusalOf(() => readMeters(text, { format: 'json' }))).toEqual([expect.stringMatching(expected)]);
});

test('of many problems the first are shown, in the order of the lines, and all are counted', () => {
  const rows = Array.from({ length: 2_500 }, () => 'GRID-1,soon,later,x');
  const error = (() => {
    try {
      readMeters([heading, ...rows].join('\n'));
    } catch (caught) {
      return caught as RefusedFile;
    }
    return undefined;
  })();
  expect(error).toBeInstanceOf(RefusedFile);
  expect(error!.count).toBe(7_500);
  expect(error!.lines).toHaveLength(PROBLEMS_SHOWN_MAX);
  expect(error!.lines.map(({ line }) => line)).toEqual(
    error!.lines.map((_, index) => 2 + Math.floor(index / 3)),
  );
  expect(error!.message).toContain('and 7,400 more');
});
