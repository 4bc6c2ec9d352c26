// @module-tag slow
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { expect, test } from 'vitest';
import { parsePeriod } from '../../src/exports/export-period.ts';
import { addSeries, storeDays, storeIntervals, WORKGROUP } from '../publish/publish-fixture.ts';
import { deviceId } from '../support/messages.ts';
import { openExportFixture } from './exports-fixture.ts';
import { readSheet, unzip } from './xlsx.ts';

const signal = new AbortController().signal;
const run = (period: string) => ({ period: parsePeriod(period)!, corrected: false });

async function read(sql: string): Promise<unknown[][]> {
  const instance = await DuckDBInstance.create(':memory:');
  try {
    const connection = await instance.connect();
    await connection.run("SET TimeZone = 'UTC'");
    return (await connection.runAndReadAll(sql)).getRowsJson();
  } finally {
    instance.closeSync();
  }
}

test.each([
  ['without names, as the lake has them', []],
  ['with names', [{ id: deviceId(2), name: 'Süd' }]],
])('Parquet has the types, the order and the meaning of its columns: %s', async (_, devices) => {
  const at = await openExportFixture([{ range: 'last_year', format: 'parquet' }], {
    devices,
    timezone: 'Europe/Berlin',
  });
  const months = ['2025-12', '2025-02', '2025-11', '2025-01'];
  await storeDays(
    at.shard,
    months.flatMap((month) =>
      [20, 3].flatMap((date) =>
        [2, 1].flatMap((device) => [
          {
            day: `${month}-${String(date).padStart(2, '0')}`,
            device,
            source: 'pv',
            energyWh: date,
            flags: 3,
          },
          { day: `${month}-${String(date).padStart(2, '0')}`, device, source: 'grid', energyWh: -date },
        ]),
      ),
    ),
  );
  await at.publish();
  const { run: done } = await at.exports.run('export1', run('2025'), signal);
  const path = join(at.target, 'export1_2025.parquet');
  const found = await read(`SELECT * FROM '${path}'`);
  expect(found).toHaveLength(32);
  expect(done.file).toMatchObject({ rows: 32, energyWh: 0 });
  const keys = found.map(([day, device, , source]) => `${day} ${device} ${source}`);
  expect(keys).toEqual([...keys].sort());
  expect(found[1]).toEqual([
    '2025-01-03',
    deviceId(1),
    null,
    'pv',
    '3',
    'total_energy',
    ['estimated', 'reset'],
    1,
    'provisional',
    '1',
    '1970-01-01 00:00:00+00',
  ]);
  expect(found[2]![2]).toBe(devices.length > 0 ? 'Süd' : null);
  const types = await read(`SELECT column_name, column_type FROM (DESCRIBE FROM '${path}')`);
  expect(Object.fromEntries(types)).toMatchObject({
    day: 'DATE',
    device: 'UUID',
    energy_wh: 'BIGINT',
    flags: 'VARCHAR[]',
    coverage: 'DOUBLE',
    computed_at: 'TIMESTAMP WITH TIME ZONE',
  });
  const [[facts]] = (await read(
    `SELECT decode(value) FROM parquet_kv_metadata('${path}') WHERE decode(key) = 'wattline'`,
  )) as [[string]];
  expect(JSON.parse(facts)).toMatchObject({
    report: 'daily_energy',
    startDate: '2025-01-01',
    endDate: '2025-12-31',
    timezone: 'Europe/Berlin',
    generation: done.file!.generation,
    columns: { energy_wh: expect.stringContaining('watt-hours') },
  });
});

test('a sheet has typed cells, no formulas, a frozen header and a second sheet that describes it', async () => {
  const at = await openExportFixture([{ format: 'xlsx' }], {
    devices: [{ id: deviceId(1), name: '=HYPERLINK("http://x","Müller & <Söhne>")' }],
  });
  await storeDays(at.shard, [{ day: '2026-11-19', device: 1, source: '@pv', energyWh: 12_345, flags: 3 }]);
  await at.publish();
  await at.exports.run('export1', run('2026-11-19'), signal);
  const archive = readFileSync(join(at.target, 'export1_2026-11-19.xlsx'));
  const [header, ...rows] = readSheet(archive, 1);
  expect(header!.slice(0, 6)).toEqual(['Day', 'Device', 'Name', 'Source', 'Energy (Wh)', 'Energy (kWh)']);
  // Days since 1899-12-30.
  const serial = (Date.parse('2026-11-19') - Date.parse('1899-12-30')) / 86_400_000;
  expect(rows).toEqual([
    [
      String(serial),
      deviceId(1),
      '=HYPERLINK("http://x","Müller & <Söhne>")',
      '@pv',
      '12345',
      '12.345',
      'total_energy',
      'estimated reset',
      '1',
      'provisional',
      '1',
      '25569',
    ],
  ]);
  const files = unzip(archive);
  expect(files.get('xl/worksheets/sheet1.xml')).toMatch(/<pane [^>]*ySplit="1"[^>]*state="frozen"/);
  for (const format of ['yyyy-mm-dd', 'yyyy-mm-dd hh:mm:ss', '#,##0', '0.0%'])
    expect(files.get('xl/styles.xml')).toMatch(
      format === '#,##0' ? /numFmtId="3"|formatCode="#,##0"/ : `formatCode="${format}"`,
    );
  expect(files.get('xl/worksheets/sheet1.xml')).toContain('</sheetData><autoFilter ref="A1:L2"/>');
  expect(files.get('xl/worksheets/sheet2.xml')).not.toContain('autoFilter');
  expect(readSheet(archive, 2)).toEqual([
    ['Device', 'Name', 'Source', 'Rows with energy', 'Energy (Wh)', 'Energy (kWh)'],
    [deviceId(1), '=HYPERLINK("http://x","Müller & <Söhne>")', '@pv', '1', '12345', '12.345'],
  ]);
  const about = new Map(readSheet(archive, 3).map(([name, value]) => [name, value]));
  expect(about.get('First day')).toBe('2026-11-19');
  expect(about.get('Energy (Wh)')).toContain('watt-hours');
  expect(about.get('estimated')).toContain('two hours without readings');
  expect(readdirSync(at.ledger().outbox)).toEqual([]);
});

test('a sheet with too many rows is refused at once, with advice', async () => {
  const at = await openExportFixture([{ format: 'xlsx', range: 'last_year' }]);
  await at.shard.transaction(async (connection) => {
    await connection.run(
      `INSERT INTO daily_energy (day, device, source, energy_wh, method, stream_id, flags, coverage, status, version, computed_at_ms, batch_id)
       SELECT DATE '2025-01-01', md5(range::VARCHAR)::UUID, 'pv', 1, 'total_energy', 1, 0, 1, 'final', 1, 0, 1 FROM range(50001)`,
    );
    await connection.run("INSERT INTO dirty_partition VALUES ('daily_energy', '2025-01')");
  });
  await at.publish();
  await expect(at.exports.run('export1', run('2025'), signal)).rejects.toThrow(
    'there are 50,001 rows, but a sheet can have 50,000; choose csv or parquet, a shorter range, or fewer devices or meters; it is not retried automatically',
  );
  expect(await at.ledger().runs()).toMatchObject([{ state: 'failed', lastError: { code: 'TooManyRows' } }]);
  // It waits for a person, so nothing is to be done.
  expect(await at.exports.hasPending(WORKGROUP)).toBe(false);
});

test('intervals include the repeated hour of a clock change, and unmeasured ones are empty', async () => {
  const at = await openExportFixture([{ report: 'interval_energy' }], { timezone: 'Europe/Berlin' });
  await addSeries(at.shard, 1, 1, 'pv');
  await storeDays(at.shard, [{ day: '2026-10-25', device: 1, source: 'pv', energyWh: 7 }]);
  await storeIntervals(at.shard, { series: 1, day: '2026-10-25', energyWh: [1, 2, 3, 0, 1] });
  await at.publish();
  await at.exports.run('export1', run('2026-10-25'), signal);
  const lines = readFileSync(join(at.target, 'export1_2026-10-25.csv'), 'utf8').trim().split('\r\n');
  expect(lines).toHaveLength(1 + 100);
  const line = (utc: string) => lines.find((one) => one.includes(`,${utc},`))!.split(',');
  expect(line('2026-10-25T00:00:00Z').slice(2)).toEqual(['2026-10-25T02:00:00', deviceId(1), '', 'pv', '1']);
  expect(line('2026-10-25T01:00:00Z').slice(2)).toEqual(['2026-10-25T02:00:00', deviceId(1), '', 'pv', '1']);
  expect(line('2026-10-25T02:00:00Z').at(-1)).toBe('');
});

test('a file that a killed process left half-written is replaced', async () => {
  const at = await openExportFixture([{ format: 'xlsx' }]);
  await storeDays(at.shard, [{ day: '2026-11-19', device: 1, energyWh: 5 }]);
  await at.publish();
  const { outbox } = at.ledger();
  mkdirSync(outbox, { recursive: true });
  for (const part of ['part', 'rows']) writeFileSync(join(outbox, `export1_2026-11-19.xlsx.${part}`), 'torn');
  mkdirSync(at.target);
  writeFileSync(join(at.target, '.export1_2026-11-19.xlsx.part'), 'torn');
  await at.exports.run('export1', run('2026-11-19'), signal);
  expect(readdirSync(outbox)).toEqual([]);
  expect(readdirSync(at.target)).toEqual(['export1_2026-11-19.xlsx']);
  expect(readSheet(readFileSync(join(at.target, 'export1_2026-11-19.xlsx')), 1)).toHaveLength(2);
  expect(existsSync(join(outbox, 'export1_2026-11-19.xlsx.rows'))).toBe(false);
});
