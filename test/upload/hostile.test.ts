import { expect, test } from 'vitest';
import { parseCsv } from '../../src/foreign-table/parse-csv.ts';
import { readBudgets, readMeters, refusalOf } from './upload-fixture.ts';

const header = 'meter_code,interval_start,interval_end,energy_kwh';
const row = 'GRID-1,2026-05-17T13:00Z,2026-05-17T13:15Z,1';
const text = (...lines: string[]) => lines.join('\n');

test('every line with too few or too many cells is listed', () => {
  const file = text(header, row, 'GRID-1,2026-05-17T14:00Z', `${row},2`);
  expect(refusalOf(() => readMeters(file))).toEqual([
    '3:: has 2 cells, but 4 columns are named in line 1; correct the row',
    '4:: has 5 cells, but 4 columns are named in line 1; correct the row',
  ]);
});

test('every line that is not UTF-8, as others are, is listed', () => {
  const latin1 = Buffer.from(
    text(header, row.replace('GRID', 'GR\u00dcN'), row, 'Z\u00e4hler,,,', ''),
    'latin1',
  );
  expect(refusalOf(() => readMeters(Buffer.concat([latin1, Buffer.from('Z\u00e4hler')])))).toEqual([
    expect.stringContaining('2:: the byte 0xDC is not UTF-8'),
    expect.stringContaining('4:: the byte 0xE4 is not UTF-8'),
  ]);
});

test('every line that is not a JSON object is listed', () => {
  const good = '{"meter_code":"PV","period":"2026-05","energy_kwh":1,"scenario":"P50"}';
  const refused = (...lines: string[]) => refusalOf(() => readBudgets(text(...lines), { format: 'json' }));
  expect(refused(good, '{', '', 'x')).toEqual([
    expect.stringContaining('2:: is not a JSON object'),
    expect.stringContaining('4:: is not a JSON object'),
  ]);
  expect(refused(good, '1', '{"meter_code":{}}')).toEqual([
    '2:: is not an object',
    '3:: "meter_code" is neither text nor a number; write one of these',
  ]);
});

test('of very many problems the first are listed, and all are counted', () => {
  const file = text(
    header,
    ...Array.from({ length: 1_500 }, (_, at) => `X${at},2026-05-17T13:00Z,2026-05-17T13:15Z,-1`),
  );
  expect(() => readMeters(file)).toThrow(
    /^file.csv has 3,000 problems:\n {2}line 2, .*\n {2}\.\.\.: and 2,900 more$/s,
  );
});

test('of two columns that could be the same thing neither is chosen', () => {
  expect(refusalOf(() => readMeters(text(`${header},energy_wh`, `${row},1000`)))).toEqual([
    '0:energy_kwh: can be the energy, and "energy_wh" can be it too; leave one of them out, or name it (option --column energy=<name> of the command)',
  ]);
  expect(refusalOf(() => readMeters(text(`${header},energy_kwh`, `${row},2`)))).toEqual([
    expect.stringContaining('0:energy_kwh: exists twice'),
  ]);
  const said = { options: { columns: { energy: 'energy_wh' } } };
  expect(readMeters(text(`${header},energy_wh`, `${row},1000`), said)).toMatchObject([{ energyWh: 1000 }]);
});

test('control characters are not shown', () => {
  const refusals = refusalOf(() => readMeters(text(header, row.replace('GRID-1', '\u001b[2JX\u0007'))));
  expect(refusals).toEqual([expect.stringContaining('no meter has the code "\ufffd[2JX\ufffd"')]);
});

test('more rows than are taken are refused before all of them are read', { tags: ['slow'] }, () => {
  const rows = (count: number, one: string) => one.repeat(count);
  const tooMany = ['0:: has more than 500,000 rows; split it'];
  const said = { options: { meter: 'PV', scenario: 'P50' } };
  const csv = `period,energy_kwh\n${rows(600_000, '2026,1\n')}`;
  expect(refusalOf(() => readBudgets(csv, said))).toEqual(tooMany);
  expect(refusalOf(() => readBudgets(rows(600_000, '{}\n'), { ...said, format: 'json' }))).toEqual(tooMany);
  const array = `[${rows(600_000, '{},')}{}]`;
  expect(refusalOf(() => readBudgets(array, { ...said, format: 'json' }))).toEqual(tooMany);
});

test('a long name of a column has no meaning, because looking at it takes the square of its length', () => {
  const named = (spaces: number) => text(header.replace('energy_kwh', `energy${' '.repeat(spaces)}kWh`), row);
  expect(readMeters(named(100))).toHaveLength(1);
  for (const spaces of [200, 60_000])
    expect(refusalOf(() => readMeters(named(spaces)))).toEqual([
      expect.stringContaining('0:energy: is missing'),
    ]);
});

test('days of hours are rounded on their running sum, so that they add up to all hours', () => {
  const hours = (day: number) =>
    Array.from({ length: 24 }, (_, hour) => `PV,2026,6,${day},${hour},${hour === 12 ? 0.4 : 0},P50`);
  const file = text(
    'meter_code,year,month,day,hour,energy_wh,scenario',
    ...hours(3),
    ...hours(1),
    ...hours(2),
  );
  expect(readBudgets(file).map(({ start, energyWh }) => [start, energyWh])).toEqual([
    ['2026-06-01', 0],
    ['2026-06-02', 1],
    ['2026-06-03', 0],
  ]);
});

test('a line that is too long is refused before its cells are read', () => {
  const refused = ['2:: has more than 65,536 characters; check if this is a CSV file'];
  for (const filler of [',', 'x', '"', ';'])
    expect(refusalOf(() => readMeters(text(header, filler.repeat(2_000_000))))).toEqual(refused);
});

test('rows with another number of cells than the heading are read up to a number', { tags: ['slow'] }, () => {
  const file = `${header}\n${'1\n'.repeat(600_000)}`;
  expect(refusalOf(() => readMeters(file))).toEqual([
    '10002:: is not CSV: more than 10,000 rows have another number of cells',
  ]);
});

test('the cells of a file are limited, also those that its rows do not have', { tags: ['slow'] }, () => {
  const file = 'a,b\n'.repeat(6);
  expect(parseCsv(file, { delimiter: ',', cellsMax: 12 })).toMatchObject({ kind: 'rows' });
  expect(parseCsv(file, { delimiter: ',', cellsMax: 11 })).toEqual({
    kind: 'problem',
    line: 6,
    message: 'more than 11 cells; split it',
  });
  const namesOf = (count: number) => Array.from({ length: count }, (_, at) => `"c${at}":1`);
  const json = (...objects: string[]) =>
    refusalOf(() => readMeters(`[${objects.join(',')}]`, { format: 'json' }));
  expect(json(...namesOf(100_000).map((name) => `{${name}}`))).toEqual([
    '1001:: has more than 1,000 columns; keep those that are read',
  ]);
  expect(json(`{${namesOf(1_000).join(',')}}${',{}'.repeat(10_000)}`)).toEqual([
    '0:: has more than 10,000,000 cells; split it',
  ]);
  const columns = Array.from({ length: 1_001 }, (_, at) => `c${at}`).join(',');
  expect(refusalOf(() => readMeters(text(columns, columns)))).toEqual([
    '1:: has more than 1,000 columns; keep those that are read',
  ]);
});
