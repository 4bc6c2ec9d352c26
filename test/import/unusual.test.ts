import { readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { gzipSync, zstdCompressSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { guessFor } from '../../src/cli/import/mapping-files.ts';
import { tempDir } from '../support/temp-dir.ts';
import { DEVICE, fileOf, parquetOf, preview, testWorkgroup } from './import-fixture.ts';

const workgroup = testWorkgroup({ devices: [{ id: DEVICE, name: 'garage' }] });
const table = 'time,total\n2024-07-01T00:00:00Z,1\n2024-07-01T01:00:00Z,2.5\n';

/** The mapping and the rows of a file without any settings. */
async function read(path: string) {
  const { mapping } = await guessFor(path, workgroup, 't');
  const { rows, counts } = await preview(path, mapping, workgroup);
  return { mapping, values: rows.map(({ fields }) => fields), counts };
}
const both = [{ total: 1 }, { total: 2.5 }];

/** A character as UTF-32 in little-endian order. */
function littleUtf32(character: string): Buffer {
  const code = character.charCodeAt(0);
  return Buffer.from([code & 0xff, code >> 8, 0, 0]);
}

describe('a file with content that does not fit its name is refused with its real type and advice', () => {
  test.each<[string, string | Uint8Array, string]>([
    ['a.csv', '', 'is empty'],
    ['a.csv', gzipSync(table), 'is packed with gzip: its name must end in .gz'],
    ['a.csv.zst', gzipSync(table), 'is packed with gzip: its name must end in .gz'],
    ['a.ndjson', zstdCompressSync(table), 'is packed with zstd: its name must end in .zst'],
    ['a.csv.gz', table, 'is not packed with gzip: its name must not end in .gz'],
    ['a.csv', Buffer.from('504b0304140006', 'hex'), 'is a spreadsheet or a ZIP: save it as CSV'],
    ['a.zip', Buffer.from('504b0304140006', 'hex'), 'is a ZIP archive: unpack it'],
    ['a.csv', 'PAR1xxxxPAR1', 'is a Parquet file: its name must end in .parquet'],
    ['a.parquet', table, 'is not a Parquet file'],
    ['a.csv', Uint8Array.from({ length: 3_000 }, (_, index) => (index * 7) % 32), 'contains no text'],
    ['a.csv', Buffer.from(`\ufeff${table}`, 'utf16le').swap16(), 'is UTF-16 in big-endian order'],
    ['a.csv', Buffer.from(table, 'utf16le').swap16(), 'is UTF-16 in big-endian order'],
    ['a.csv.zst', zstdCompressSync(table.repeat(99)).subarray(0, -4), 'is damaged or cut off'],
    ['a.csv', Buffer.concat([...table].map((one) => Buffer.from([0, 0, 0, one.charCodeAt(0)]))), 'is UTF-32'],
    ['a.csv', Buffer.concat([...`\ufeff${table}`].map(littleUtf32)), 'is UTF-32, which cannot be read'],
    ['a.csv.gz', gzipSync('\n'.repeat(70_000) + table), 'begins with empty lines'],
    ['a.csv', `${table.repeat(9)}${table.replaceAll('\n', '\r\n')}`, 'all lines end in the same way'],
    ['a.csv', `time,${'total,'.repeat(200_000)}\n`, 'has a line of more than 1 MiB'],
    ['a.csv', 'time,total\n', 'has no readable row below its heading'],
    ['a.json', '[1, 2]', 'has no JSON object'],
    [
      'a.csv',
      'time,total\n2024-07-01,1\n2024-07-02,2\n03.07.2024,3\n',
      'column "time" is a time (iso) only in 67 % of the rows; it may have several formats',
    ],
  ])('%s, $2', async (name, content, problem) => {
    await expect(read(fileOf(name, content))).rejects.toThrow(problem);
  });

  test('a folder', async () => {
    await expect(read(dirname(fileOf('a.csv', table)))).rejects.toThrow('is a folder: name its files');
  });
});

test.each(['a*.csv', 'a?.csv', 'a[1].csv', '[a].csv', 'a**.ndjson', 'a*.parquet'])(
  'a file of the name %s is read, and no other file that its name fits as a pattern',
  async (name) => {
    const folder = tempDir();
    const [ending] = /[a-z]+$/.exec(name)!;
    const contents: Record<string, string | Uint8Array> = {
      csv: table,
      ndjson: '{"time":"2024-07-01T00:00:00Z","total":1}\n{"time":"2024-07-01T01:00:00Z","total":2.5}\n',
      parquet: readFileSync(
        await parquetOf(
          "SELECT * FROM (VALUES ('2024-07-01T00:00:00Z', 1.0), ('2024-07-01T01:00:00Z', 2.5)) t(time, total)",
        ),
      ),
    };
    for (const other of ['a', 'a1', 'ab', 'a[1'])
      writeFileSync(join(folder, `${other}.${ending}`), 'time,total\n');
    writeFileSync(join(folder, name), contents[ending]!);
    expect(await read(join(folder, name))).toMatchObject({ values: both });
  },
);

test('the format of a link follows from its own name, or else from the name of its target', async () => {
  const packed = fileOf('blob', gzipSync(table));
  const plain = fileOf('rows.csv', table);
  const folder = dirname(packed);
  symlinkSync(packed, join(folder, 'latest.csv.gz'));
  symlinkSync(plain, join(folder, 'latest'));
  expect(await read(join(folder, 'latest.csv.gz'))).toMatchObject({ values: both });
  expect(await read(join(folder, 'latest'))).toMatchObject({ values: both });
});

describe('what a file has is found without settings', () => {
  test.each<[string, Uint8Array, string]>([
    ['UTF-8 with a mark', Buffer.from(`\ufeff${table}`), 'utf-8'],
    ['UTF-16', Buffer.from(`\ufeff${table}`, 'utf16le'), 'utf-16'],
    ['UTF-16 without a mark', Buffer.from(table, 'utf16le'), 'utf-16'],
    ['Latin-1', Buffer.from(table.replaceAll('time', 'Zeitpunkt dér Messung'), 'latin1'), 'latin-1'],
  ])('%s is recognized', async (_, content, encoding) => {
    const { mapping, values } = await read(fileOf('a.csv', content));
    expect([mapping.csv.encoding, values]).toEqual([encoding, both]);
  });

  test('a table below other lines is found', async () => {
    const path = fileOf('a.csv', `Plant of somebody\nSerial: 7\n\n${table}`);
    const { mapping, values, counts } = await read(path);
    expect(mapping.csv).toMatchObject({ skipLines: 3, header: true });
    expect([values, counts.rowsRejected]).toEqual([both, 0]);
  });

  test('a table below title lines with as many columns is found', async () => {
    const rows = ['28.03.2026 00:00;1234,5;OK;', '28.03.2026 00:15;1234,6;OK;'];
    const path = fileOf(
      'a.csv',
      ['Datenexport;;;', 'Nummer: 7;;;', ';;;', 'Zeit;Zähler (kWh);Status;', ...rows, ''].join('\n'),
    );
    const { mapping, values, counts } = await read(path);
    expect(mapping.csv).toMatchObject({ delimiter: ';', skipLines: 3, header: true });
    expect(mapping.time.column).toEqual(['Zeit']);
    expect(values).toEqual([{ 'Zähler (kWh)': 1234.5 }, { 'Zähler (kWh)': 1234.6 }]);
    expect(counts.rowsRejected).toBe(0);
  });

  test('objects in one array are read like lines of objects', { tags: ['slow'] }, async () => {
    const rows = [
      { time: '2024-07-01T00:00:00Z', data: { total: 1 } },
      { time: '2024-07-01T01:00:00Z', data: { total: 2.5 } },
    ];
    expect(await read(fileOf('a.json', JSON.stringify(rows, null, 2)))).toMatchObject({ values: both });
    expect(await read(fileOf('a.json.gz', gzipSync(` ${JSON.stringify(rows)}`)))).toMatchObject({
      values: both,
    });
  });

  test('if objects differ, the member that most of them have is the time', async () => {
    const lines = [
      '{"ts":"2024-07-01T00:00:00Z","total":1}',
      '{"time":"2024-07-01T01:00:00Z","total":2}',
      '{"time":"2024-07-01T02:00:00Z","total":3}',
    ];
    const { mapping, counts } = await read(fileOf('a.ndjson', lines.join('\n')));
    expect(mapping.time.column).toEqual(['time']);
    expect(counts.rejected).toEqual({ bad_time: 1 });
  });
});

test('a quote that is not closed takes the lines below it with it, and the rejection says so', {
  tags: ['slow'],
}, async () => {
  // DuckDB guesses from the first 20,480 lines, and refuses a file with such a quote in them.
  const lines = Array.from({ length: 21_000 }, (_, row) => `${1_700_000_000 + row},"1"`);
  lines[20_800] = '1700020800,"1\n2",3';
  lines[20_900] = '1700020900,"1';
  const path = fileOf('a.csv', `time,total\n${lines.join('\n')}\n`);
  const { counts, examples } = await preview(path, {
    time: { column: 'time', format: 'seconds' },
    device: { id: DEVICE },
    fields: { total: 'total' },
    csv: { delimiter: ',', quote: '"', header: true, skipLines: 0 },
  });
  expect(counts).toMatchObject({ rowsRejected: 2 });
  expect(examples.map(({ detail }) => detail)).toEqual([
    expect.stringContaining('too many columns'),
    expect.stringContaining('a quote is not closed in this line, so the lines below it'),
  ]);
});

test('members of structures in Parquet are named by their path', async () => {
  const path = await parquetOf(
    `SELECT TIMESTAMPTZ '2024-07-01 00:00:00Z' AS time, {'total': 1, 'in/side': {'a b': 2.5}, 'l': [1]} AS data, [{'x': 1}] AS list`,
  );
  const { mapping, values } = await read(path);
  expect(mapping.fields).toEqual({ '/data/total': 'total', '/data/in~1side/a b': 'a b' });
  expect(values).toEqual([{ total: 1, 'a b': 2.5 }]);
});

test('in Parquet and in text NaN is no value, and infinity is not a number', async () => {
  const path = await parquetOf(
    `SELECT TIMESTAMPTZ '2024-07-01 00:00:00Z' AS time, a, 1 AS b FROM (VALUES ('nan'::DOUBLE), ('inf'::DOUBLE), (-0.0::DOUBLE)) AS t(a)`,
  );
  const mapping = { time: { column: 'time' }, device: { id: DEVICE }, fields: { a: 'a', b: 'b' } };
  const { rows } = await preview(path, mapping);
  expect(rows.map(({ fields }) => fields)).toEqual([{ b: 1 }, { a: 'inf', b: 1 }, { a: -0, b: 1 }]);
});
