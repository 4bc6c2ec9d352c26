import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { expect, test } from 'vitest';
import { sqlString } from '../../src/lib/sql-text.ts';
import { preferredFormat } from '../../src/report/rows/row-format.ts';
import { storeDays, WORKGROUP } from '../publish/publish-fixture.ts';
import { deviceId } from '../support/messages.ts';
import { sampled } from '../support/rounds.ts';
import { atEnd, shared } from '../support/shared.ts';
import { tempDir } from '../support/temp-dir.ts';
import { openBalance } from './balance-support.ts';
import { days, openPlant, range } from './plant.ts';
import { openReport, type ReportFixture } from './report-fixture.ts';

const timeout = 240_000;
const formats = ['csv', 'ndjson', 'parquet'] as const;
type Cells = Record<string, unknown>;

/** The rows of an answer, read by DuckDB, as text. */
async function readRows(at: ReportFixture, path: string, format: string, headers = {}): Promise<Cells[]> {
  const response = await at.get(`/api/v1/orgs/${WORKGROUP}/${path}`, { headers });
  const body = Buffer.from(await response.arrayBuffer());
  if (response.status !== 200) throw new Error(`${path}: ${response.status} ${body.toString()}`);
  return rowsOf(body, format);
}

async function rowsOf(body: Buffer, format: string): Promise<Cells[]> {
  const file = join(tempDir(), `answer.${format}`);
  writeFileSync(file, body);
  const connection = await reader().connect();
  const read = {
    csv: `read_csv(${sqlString(file)}, all_varchar = true, header = true)`,
    ndjson: `read_json(${sqlString(file)}, format = 'newline_delimited')`,
    parquet: `read_parquet(${sqlString(file)})`,
  }[format];
  const answer = await connection.runAndReadAll(`SELECT * FROM ${read}`);
  connection.closeSync();
  return answer.getRowObjectsJson();
}

/** One spelling of a value of any format. */
function plain(value: unknown): unknown {
  if (value === null || value === undefined || value === '') return null;
  const text = Array.isArray(value) ? value.join(' ') : String(value);
  if (text === '') return null;
  if (/^-?\d+(?:\.\d+)?$/.test(text)) return Number(text);
  return text.replace(/^(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d).*$/, '$1 $2').replace(/^(.*)$/, '$1');
}

const plant = shared(() => openPlant());
/** Reads the answers. */
const reader = shared(async () => {
  const instance = await DuckDBInstance.create(':memory:', { threads: '1' });
  atEnd(() => instance.closeSync());
  return instance;
});

const reports = [
  `daily-energy?${range}`,
  `daily-energy?${range}&groupBy=source`,
  `daily-energy/details?${range}`,
  `interval-energy?startDate=${days[2]}&endDate=${days[2]}`,
  `interval-energy?startDate=${days[2]}&endDate=${days[2]}&groupBy=source`,
  `daily-energy/changes?since=${days[0]}&provisional=true`,
  'device-status?state=online',
  `meter-data?${range}`,
  `meter-data/details?${range}&timezone=Asia/Tokyo`,
  `budget-data?${range}`,
  `sites/plant/reconciliation?${range}`,
  `sites/budgeted/variance?${range}`,
];

test('every report is answered as CSV, NDJSON and Parquet with the same rows', {
  tags: ['slow'],
  timeout,
}, async () => {
  const at = plant();
  for (const path of reports) {
    const read: Record<string, Cells[]> = {};
    for (const format of formats) {
      const rows = await readRows(at, `${path}&format=${format}`, format);
      read[format] = rows.map((row) =>
        Object.fromEntries(Object.entries(row).map(([name, value]) => [name, plain(value)])),
      );
    }
    expect([path, read.csv!.length]).not.toEqual([path, 0]);
    expect({ path, rows: read.ndjson }).toEqual({ path, rows: read.csv });
    expect({ path, rows: read.parquet }).toEqual({ path, rows: read.csv });
  }
});

test('rows have the energy of the answer in JSON', { timeout }, async () => {
  const at = plant();
  const byDay = await at.report(range);
  const rows = await readRows(at, `daily-energy?${range}&format=csv`, 'csv');
  const fromRows: Record<string, Record<string, number>> = Object.fromEntries(days.map((day) => [day, {}]));
  for (const { day, device, energy_wh } of rows) fromRows[String(day)]![String(device)] = Number(energy_wh);
  expect(fromRows).toEqual(byDay);

  const hours25 = `startDate=${days[2]}&endDate=${days[2]}`;
  const answer = (await (
    await at.get(`/api/v1/orgs/${WORKGROUP}/interval-energy?${hours25}`)
  ).json()) as Record<string, { energyWh: Record<string, Array<number | null>> }>;
  const intervals = await readRows(at, `interval-energy?${hours25}&format=ndjson`, 'ndjson');
  const byDevice = Map.groupBy(intervals, ({ device }) => String(device));
  const profiles = [...byDevice].map(([device, rows]) => [
    device,
    rows.map(({ energy_wh }) => (energy_wh === null ? null : Number(energy_wh))),
  ]);
  expect(Object.fromEntries(profiles)).toEqual(answer[days[2]]!.energyWh);
});

test('a balance is answered as rows, by interval, day, month and year', {
  tags: ['slow'],
  timeout,
}, async () => {
  const at = await openBalance(
    {
      timezone: 'Etc/UTC',
      devices: [{ id: deviceId(1), name: 'house' }],
      roles: [
        { source: 'pv', role: 'production' },
        { source: 'load', role: 'consumption' },
      ],
    },
    { from: '2026-01-30', to: '2026-02-02' },
    [
      { device: deviceId(1), source: 'pv', wh: {}, unlistedWh: 10 },
      { device: deviceId(1), source: 'load', wh: {}, unlistedWh: 8 },
    ],
  );
  const asked = 'balance?startDate=2026-01-30&endDate=2026-02-02';
  for (const [resolution, count] of sampled<readonly [string, number]>(
    [
      ['interval', 4 * 96],
      ['day', 4],
      ['month', 2],
      ['year', 1],
    ],
    2,
  )) {
    const json = await at.ask(`${asked}&resolution=${resolution}`);
    const read = await Promise.all(
      formats.map((format) => readRows(at, `${asked}&resolution=${resolution}&format=${format}`, format)),
    );
    for (const rows of read) {
      expect(rows).toHaveLength(count);
      expect(rows.map(({ production_wh }) => Number(production_wh))).toEqual(
        Object.values(json).map(({ productionWh }) => productionWh),
      );
      expect(rows[0]).toMatchObject({ scope: WORKGROUP, autarky: resolution && expect.anything() });
    }
  }
});

/** A day with two devices. A spreadsheet would compute the name of the first. */
const oneDay = shared(async () => {
  const at = await openReport({
    devices: [{ id: deviceId(1), name: '=SUM(A1)' }],
    deviceGroups: { mine: [deviceId(1)] } as never,
  });
  await storeDays(at.shard, [
    { day: '2026-11-18', device: 1, energyWh: 5 },
    { day: '2026-11-18', device: 2, energyWh: 7 },
  ]);
  await at.publish();
  return at;
});

test('the header Accept chooses the format, and the parameter wins', { timeout }, async () => {
  const at = oneDay();
  const path = `/api/v1/orgs/${WORKGROUP}/daily-energy?startDate=2026-11-17&endDate=2026-11-18`;
  const ask = (accept: string, more = '') => at.get(path + more, { headers: { accept } });
  const csv = await ask('text/csv');
  expect(csv.headers.get('content-type')).toBe('text/csv; charset=utf-8');
  expect(csv.headers.get('content-disposition')).toBe(
    'attachment; filename="daily-energy_2026-11-17_2026-11-18.csv"',
  );
  expect(csv.headers.get('vary')).toMatch(/accept\b/i);
  const lines = (await csv.text()).split('\r\n');
  expect(lines[0]).toBe('day,device,device_name,energy_wh,method,flags,coverage,status,version,computed_at');
  expect(lines[1]).toContain(`2026-11-18,${deviceId(1)},'=SUM(A1),5,`);
  expect((await ask('text/csv', '&format=json')).headers.get('content-type')).toContain('json');
  const browser = await ask('text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8');
  expect(browser.headers.get('content-type')).toContain('application/json');
  expect(await browser.json()).toEqual({
    '2026-11-17': {},
    '2026-11-18': { [deviceId(1)]: 5, [deviceId(2)]: 7 },
  });
  const refused = await at.get(`${path}&format=xlsx`);
  expect([refused.status, ((await refused.json()) as { message: string }).message]).toEqual([
    400,
    'format: must be one of json, csv, ndjson, parquet, given once',
  ]);
});

test.each([
  ['', 'json'],
  ['*/*', 'json'],
  ['text/csv, application/json;q=0.5', 'csv'],
  ['application/json, text/csv', 'json'],
  ['application/json;q=0.1, application/vnd.apache.parquet;q=0.2', 'parquet'],
  ['application/cbor', 'json'],
  ['text/csv; charset=utf-8', 'csv'],
  ['text/csv;q=0', 'json'],
  ['text/csv;q=x', 'json'],
  ['APPLICATION/X-NDJSON', 'ndjson'],
  ['application/json;charset=UTF-8', 'json'],
  ['text/csv; header=present', 'csv'],
  ['text/*', 'csv'],
  ['application/json;q=0, */*', 'csv'],
  ['application/json;q=0.5, application/*', 'csv'],
])('Accept: %s means %s', (accept, format) => {
  expect(preferredFormat(accept)).toBe(format);
});

test('each format has its own entity tag, and an unchanged answer is not sent again', {
  timeout,
}, async () => {
  const at = oneDay();
  const path = `/api/v1/orgs/${WORKGROUP}/daily-energy?startDate=2026-11-18&endDate=2026-11-18`;
  const tags: Array<string | null> = [];
  for (const format of ['json', ...formats]) {
    const first = await at.get(`${path}&format=${format}`);
    const size = (await first.arrayBuffer()).byteLength;
    const etag = first.headers.get('etag');
    tags.push(etag);
    const again = await at.get(`${path}&format=${format}`, { headers: { 'if-none-match': etag! } });
    expect([again.status, await again.text()]).toEqual([304, '']);
    const head = await fetch(`${at.base}${path}&format=${format}`, {
      method: 'HEAD',
      headers: { authorization: `Bearer ${at.token}`, 'accept-encoding': 'identity' },
    });
    expect(head.headers.get('etag')).toBe(etag);
    if (format === 'parquet') expect(Number(head.headers.get('content-length'))).toBe(size);
  }
  expect(new Set(tags).size).toBe(4);
});

test('a token of device groups gets the rows of its devices alone', { timeout }, async () => {
  const at = oneDay();
  const token = await at.issue({ permissions: ['search:read'], deviceGroups: ['mine'] });
  const response = await at.get(
    `/api/v1/orgs/${WORKGROUP}/daily-energy?startDate=2026-11-18&endDate=2026-11-18&format=ndjson`,
    { token },
  );
  const lines = (await response.text()).trim().split('\n');
  expect(lines.map((line) => (JSON.parse(line) as { device: string }).device)).toEqual([deviceId(1)]);
});

test('without data, the answer has the columns and no rows', { tags: ['slow'], timeout }, async () => {
  const at = await openReport();
  const path = 'interval-energy?startDate=2026-11-18&endDate=2026-11-18&format=';
  expect(await readRows(at, `${path}parquet`, 'parquet')).toEqual([]);
  const response = await at.get(`/api/v1/orgs/${WORKGROUP}/${path}csv`);
  expect(await response.text()).toBe(
    'day,interval_start,interval_start_local,device,device_name,energy_wh\r\n',
  );
});
