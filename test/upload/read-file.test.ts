import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync, zstdCompressSync } from 'node:zlib';
import { DuckDBInstance } from '@duckdb/node-api';
import { expect, test } from 'vitest';
import { readUploadFile } from '../../src/upload/read-file.ts';
import type { UploadOptions } from '../../src/upload/upload-options.ts';
import { workbookOf } from '../foreign-table/zip-files.ts';
import { tempDir } from '../support/temp-dir.ts';
import { meters } from './upload-fixture.ts';

const csv =
  'meter_code,interval_start,interval_end,energy_kwh\nGRID-1,2026-05-17T11:00Z,2026-05-17T11:15Z,1.25\n';
const start = Date.UTC(2026, 4, 17, 11);

const firstSheet = { sheet: undefined, onNote: () => {} };

function read(path: string, options: UploadOptions = {}) {
  return readUploadFile(path, { topic: 'meter-data', meters, options }, firstSheet);
}

function fileOf(name: string, content: string | Uint8Array): string {
  const path = join(tempDir(), name);
  writeFileSync(path, content);
  return path;
}

/** A Parquet file of what a statement selects. */
async function parquetOf(select: string): Promise<string> {
  const path = join(tempDir(), 'file.parquet');
  const instance = await DuckDBInstance.create(':memory:');
  const connection = await instance.connect();
  await connection.run("SET TimeZone = 'UTC'");
  await connection.run(`COPY (${select}) TO '${path}' (FORMAT parquet)`);
  connection.closeSync();
  instance.closeSync();
  return path;
}

test.each([
  { name: 'a.csv', content: csv },
  { name: 'a.csv.gz', content: gzipSync(csv) },
  { name: 'a.csv.zst', content: zstdCompressSync(csv) },
  { name: 'a.tsv', content: csv.replaceAll(',', '\t') },
])('$name is read', async ({ name, content }) => {
  const upload = await read(fileOf(name, content));
  expect(upload).toMatchObject({
    kind: 'meter_intervals',
    rows: [{ meter: 'GRID-1', start, energyWh: 1250 }],
  });
});

test('Parquet is read with instants, local times and numbers of any type', async () => {
  const zoned = await parquetOf(
    "SELECT 'GRID-1' AS meter_code, TIMESTAMPTZ '2026-05-17 11:00:00+00' AS interval_start, TIMESTAMPTZ '2026-05-17 11:15:00+00' AS interval_end, 1.25::DECIMAL(9, 3) AS energy_kwh",
  );
  expect(await read(zoned)).toMatchObject({
    rows: [{ line: 1, start, end: start + 900_000, energyWh: 1250 }],
  });
  const local = await parquetOf(
    "SELECT 'GRID-1' AS meter_code, TIMESTAMP '2026-05-17 13:00:00' AS time, 1e-3::DOUBLE AS value_kwh",
  );
  expect(await read(local, { timezone: 'Europe/Berlin' })).toMatchObject({
    kind: 'meter_registers',
    rows: [{ start, energyWh: 1 }],
  });
});

test('cells of Parquet are read without blanks at their ends, and a file of too many columns is not', {
  tags: ['slow'],
}, async () => {
  const blanks = await parquetOf(
    "SELECT ' GRID-1 ' AS meter_code, '2026-05-17T11:00Z' AS time, ' 1.5 ' AS value_kwh, NULL AS quality",
  );
  expect(await read(blanks)).toMatchObject({ rows: [{ meter: 'GRID-1', start, energyWh: 1_500 }] });
  const names = Array.from({ length: 1_001 }, (_, index) => `1 AS c${index}`);
  await expect(read(await parquetOf(`SELECT ${names.join(', ')}`))).rejects.toThrow(
    'has more than 1,000 columns; keep those that are read',
  );
});

test('errors of a Parquet file name the number of the row', async () => {
  const path = await parquetOf(
    "SELECT 'GRID-1' AS meter_code, make_timestamptz(n * 900000000) AS interval_start, make_timestamptz(n * 900000000 + 900000000) AS interval_end, CASE n WHEN 2 THEN -1 ELSE 1 END AS energy_kwh FROM range(1, 4) r(n)",
  );
  await expect(read(path)).rejects.toThrow(
    /file.parquet has a problem:\n {2}line 2, column "energy_kwh": -1 is negative/,
  );
});

test.each([
  { name: 'a.ods', content: 'PK', expected: /does not end in .csv, .ndjson, .json, .parquet or .xlsx/ },
  { name: 'a.xlsx', content: 'PK', expected: /a.xlsx has a problem:\n/ },
  { name: 'a.csv.gz', content: gzipSync(csv).subarray(0, 40), expected: /damaged or cut off/ },
  { name: 'a.parquet', content: csv, expected: /a.parquet has a problem:\n/ },
])('$name that cannot be read is refused', async ({ name, content, expected }) => {
  await expect(read(fileOf(name, content))).rejects.toThrow(expected);
});

test('all frames of a file that is packed with Zstandard are read', async () => {
  const [heading = '', ...rows] = csv.split(/(?<=\n)/);
  const all = await read(fileOf('a.csv', csv));
  const frames = [heading, ...rows].map((text) => zstdCompressSync(text));
  expect(frames.length).toBeGreaterThan(1);
  expect((await read(fileOf('a.csv.zst', Buffer.concat(frames)))).rows).toEqual(all.rows);
  const cut = Buffer.concat(frames).subarray(0, -2);
  await expect(read(fileOf('a.csv.zst', cut))).rejects.toThrow(/damaged or cut off/);
});

test('a file whose packed bytes have changed is damaged', async () => {
  const packed = zstdCompressSync(csv);
  packed.fill(0xff, 8);
  await expect(read(fileOf('a.csv.zst', packed))).rejects.toThrow(/damaged or cut off: /);
});

test('a workbook is read below its title, with local times, and wrong rows are named', async () => {
  const text = (value: string) => `<c t="inlineStr"><is><t>${value}</t></is></c>`;
  // Days since 1899-12-30: 2026-05-17 13:00 and 13:15.
  const at = (minutes: number) => `<c s="2"><v>${46_159 + (13 * 60 + minutes) / 1_440}</v></c>`;
  const workbook = (energy: string) =>
    workbookOf({
      Readings: `<row r="1">${text('Street')}</row><row r="3">${['meter_code', 'interval_start', 'interval_end', 'energy_kwh'].map(text).join('')}</row><row r="5">${text('GRID-1')}${at(0)}${at(15)}<c><v>${energy}</v></c></row>`,
    });
  const options = { timezone: 'Europe/Berlin' };
  expect(await read(fileOf('may.xlsx', workbook('1.125')), options)).toMatchObject({
    kind: 'meter_intervals',
    rows: [{ meter: 'GRID-1', line: 5, start, end: start + 900_000, energyWh: 1_125 }],
  });
  await expect(read(fileOf('may.xlsx', workbook('-1')), options)).rejects.toThrow(
    /may.xlsx has a problem:\n {2}line 5, column "energy_kwh": -1 is negative/,
  );
  const budget = workbookOf({
    Plan: `<row r="1">${['meter_code', 'period', 'energy_kwh'].map(text).join('')}</row><row r="2">${text('GRID-1')}${text('2026-05')}<c><v>310</v></c></row>`,
  });
  expect(
    await readUploadFile(
      fileOf('plan.xlsx', budget),
      { topic: 'budget', meters, options: { scenario: 'P50' } },
      firstSheet,
    ),
  ).toMatchObject({ rows: [{ meter: 'GRID-1', energyWh: 310_000 }] });
});

test.each(['a.csv', 'a.xlsx'])('the error for a missing %s names it', async (name) => {
  await expect(read(join(tempDir(), name))).rejects.toThrow(
    new RegExp(`${name} has a problem:\\n.*cannot be read \\(ENOENT\\)`),
  );
});

test('a fault of ours is thrown as it is, and a file that there is not is refused', async () => {
  const fault = new TypeError('a fault');
  const workbook = {
    sheet: undefined,
    onNote: () => {
      throw fault;
    },
  };
  const request = { topic: 'meter-data', meters, options: {} } as const;
  const rows = '<row r="1"><c><v>1</v></c></row>';
  const path = fileOf('a.xlsx', workbookOf({ May: rows, June: rows }));
  expect(await readUploadFile(path, request, workbook).catch((error: unknown) => error)).toBe(fault);
  for (const name of ['none.xlsx', 'none.csv'])
    await expect(readUploadFile(join(tempDir(), name), request, workbook)).rejects.toMatchObject({
      message: expect.stringContaining('cannot be read (ENOENT)'),
    });
});
