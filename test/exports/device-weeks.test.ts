import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { expect, test } from 'vitest';
import { loadSql } from '../../src/warehouse/load-sql.ts';
import { queryText, type SqlParameters } from '../../src/warehouse/query.ts';
import { deviceId } from '../support/messages.ts';
import { tempDir } from '../support/temp-dir.ts';

/** A day of a device: number of the device, day, Wh, flags, coverage. */
type Day = readonly [device: number, day: string, wh: number | null, flags?: string, coverage?: number];

async function read(days: readonly Day[], statement: string, parameters: SqlParameters) {
  const instance = await DuckDBInstance.create(':memory:', { threads: '1' });
  const connection = await instance.connect();
  const rows = days.map(
    ([device, day, wh, flags = '', coverage = 1]) =>
      `(UUID '${deviceId(device)}', 'roof', 'pv', DATE '${day}', ${wh}::BIGINT, list_filter(split('${flags}', ' '), lambda flag: flag <> ''), ${coverage}::DOUBLE)`,
  );
  await connection.run(
    `CREATE TABLE day_row AS FROM (VALUES ${rows.join(', ')}) AS row (device, device_name, source, day, energy_wh, flags, coverage)`,
  );
  const found = await queryText(connection, loadSql(statement), parameters);
  connection.closeSync();
  instance.closeSync();
  return found;
}

test('a mail has the day of a device, its earlier days without a doubt, and the last one with energy', async () => {
  const rows = await read(
    [
      [1, '2026-11-19', 5, 'partial reset', 0.5],
      [1, '2026-11-18', null],
      [1, '2026-11-12', 7, 'partial', 0.4],
      [1, '2026-11-05', 8, 'reset'],
      [2, '2026-11-12', 9],
    ],
    'export/list_device_weeks',
    { day: '2026-11-19', doubtful_flags: ['partial', 'incomplete'] },
  );
  expect(rows.map((row) => ({ ...row, energies: JSON.parse(String(row.energies)) }))).toEqual([
    {
      ...{ device: deviceId(1), flags: 'partial reset', coverage: 0.5, last_day: '2026-11-12' },
      energies: { '2026-11-19': 5, '2026-11-18': null, '2026-11-05': 8 },
    },
    {
      ...{ device: deviceId(2), flags: '', coverage: null, last_day: '2026-11-12' },
      energies: { '2026-11-12': 9 },
    },
  ]);
});

test('Home Assistant gets a series for each device and source with known energy, and one too many is noticed', async () => {
  const days: Day[] = [
    [1, '2026-11-18', 0],
    [1, '2026-11-19', null],
    [2, '2026-11-19', null],
    [3, '2026-11-19', -4],
    [4, '2026-11-19', 4],
  ];
  const rows = await read(days, 'export/list_daily_series', { series_max: 1 });
  expect(rows.map((row) => [row.device, row.device_name, row.source, JSON.parse(String(row.days))])).toEqual([
    [deviceId(1), 'roof', 'pv', { '2026-11-18': 0 }],
    [deviceId(3), 'roof', 'pv', { '2026-11-19': -4 }],
  ]);
});

test('open gaps that touch a day are listed, the first one first, and one without times is when it was found', async () => {
  const path = join(tempDir(), 'gap.parquet');
  const instance = await DuckDBInstance.create(':memory:', { threads: '1' });
  const connection = await instance.connect();
  const row = (
    reason: string,
    from: number | null,
    to: number | null,
    detected: number,
    closed: number | null,
  ) =>
    `('${reason}', ${[from, to, detected, closed].map((ms) => (ms === null ? 'NULL::TIMESTAMPTZ' : `make_timestamptz(${ms * 1_000})`)).join(', ')})`;
  await connection.run(
    `COPY (FROM (VALUES ${[
      row('from its last instant', 199, 300, 900, null),
      row('found on it', null, null, 150, null),
      row('up to its start', 50, 100, 900, null),
      row('closed', 120, 130, 900, 950),
      row('before', 50, 99, 150, null),
      row('after', 200, 300, 150, null),
      row('found later', null, null, 200, null),
    ].join(
      ', ',
    )}) AS row (reason, from_time, to_time, detected_at, closed_at)) TO '${path}' (FORMAT parquet)`,
  );
  const listed = async (rows_max: bigint) => {
    const parameters = { files: [path], start_ms: 100n, end_ms: 200n, rows_max };
    const rows = await queryText(connection, loadSql('export/list_open_gaps'), parameters);
    return rows.map((gap) => [gap.reason, gap.from_ms, gap.to_ms]);
  };
  const gaps = [
    ['up to its start', 50, 100],
    ['found on it', 150, 150],
    ['from its last instant', 199, 300],
  ];
  expect(await listed(9n)).toEqual(gaps);
  expect(await listed(2n)).toEqual(gaps.slice(0, 2));
  connection.closeSync();
  instance.closeSync();
});
