import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { expect, test } from 'vitest';
import { configSchema } from '../../src/config/config.ts';
import { zodProblems } from '../../src/config/zod-problems.ts';
import { INTERVAL_MS } from '../../src/lib/time.ts';
import { WORKGROUP } from '../publish/publish-fixture.ts';
import { landReadings, rollUpSite } from '../rollup/rollup-fixture.ts';
import { deviceId } from '../support/messages.ts';
import { isSoak } from '../support/rounds.ts';
import { openExportFixture } from './exports-fixture.ts';
import { readSheet } from './xlsx.ts';

const [roof, meter] = [deviceId(1), deviceId(2)];
const settings = {
  timezone: 'Europe/Berlin',
  roles: [
    { source: 'pv', role: 'production' as const },
    { source: 'import', role: 'grid_import' as const },
    { source: 'export', role: 'grid_export' as const },
  ],
  sites: [{ name: 'home', devices: [{ id: roof }, { id: meter }] }],
};
const startMs = Date.parse('2026-11-18T23:00:00Z');

/**
 * 19 November in Berlin: 1,000 Wh at noon, of which 600 go into the grid, and 10 Wh each quarter of an hour
 * from there.
 */
async function openFiles(exports: Parameters<typeof openExportFixture>[0]) {
  const at = await openExportFixture(
    exports.map((one) => ({ report: 'balance' as const, groupBy: undefined, ...one })),
    settings,
  );
  const each = (device: string, source: string, value: (index: number) => number) =>
    Array.from({ length: 96 }, (_, index) => ({
      event_time: new Date(startMs + index * INTERVAL_MS).toISOString(),
      device,
      source,
      data: { wh: value(index) },
    }));
  await landReadings(at.shard, [
    ...each(roof, 'pv', (index) => (index === 48 ? 1_000 : 0)),
    ...each(meter, 'import', () => 10),
    ...each(meter, 'export', (index) => (index === 48 ? 600 : 0)),
  ]);
  await rollUpSite(at.shard, {
    timezone: settings.timezone,
    streams: [
      { table: 't', field: 'wh', method: 'interval_energy', unit: 'Wh', interval: '15m', maxPower: '1 GW' },
    ],
  });
  await at.publish();
  const run = async (id: string) => {
    const { run: done } = await at.exports.run(id, { corrected: false }, new AbortController().signal);
    return { ...done.file!, path: join(at.target, done.file!.name) };
  };
  return { ...at, run };
}

const header =
  'day,scope,production_wh,consumption_wh,grid_import_wh,grid_export_wh,battery_charge_wh,battery_discharge_wh,grid_net_wh,residual_wh,self_consumption_wh,self_supply_wh,grid_to_battery_wh,battery_to_grid_wh,self_consumption_rate,autarky,self_consumption_max_wh,autarky_max,specific_yield,coverage,computed,missing,flags';

test.runIf(isSoak)(
  'a balance is exported as CSV, Parquet and JSON, of the workgroup or of a site, and as a sheet with the totals of each month',
  async () => {
    const at = await openFiles([
      { format: 'csv', site: 'home' },
      { format: 'parquet' },
      { format: 'json' },
      { format: 'csv', resolution: 'interval' },
      { format: 'xlsx', range: 'month_to_date' },
    ]);
    const csv = await at.run('export1');
    // 1,000 + 960 - 600 = 1,360; (1,360 - 960) / 1,360.
    expect(readFileSync(csv.path, 'utf8')).toBe(
      `${header}\r\n2026-11-19,home,1000,1360,960,600,0,0,360,0,400,400,0,0,0.4,0.2941,,,,1.0,consumption,,\r\n`,
    );
    expect(csv.energyWh).toBe(1_360);

    const parquet = await at.run('export2');
    const instance = await DuckDBInstance.create(':memory:');
    const connection = await instance.connect();
    const rows = await connection.runAndReadAll(
      `SELECT day::VARCHAR, scope, consumption_wh, autarky, computed[1] FROM read_parquet('${parquet.path}')`,
    );
    expect(rows.getRows()).toEqual([['2026-11-19', WORKGROUP, 1_360n, 0.2941, 'consumption']]);
    connection.closeSync();
    instance.closeSync();

    const json = JSON.parse(readFileSync((await at.run('export3')).path, 'utf8')) as Record<string, unknown>;
    expect(json).toEqual({
      '2026-11-19': expect.objectContaining({ consumptionWh: 1_360, autarky: 0.2941 }),
    });

    const lines = readFileSync((await at.run('export4')).path, 'utf8')
      .trimEnd()
      .split('\r\n');
    expect(lines).toHaveLength(97);
    expect(lines[49]).toMatch(
      /^2026-11-19,2026-11-19T11:00:00Z,2026-11-19T12:00:00,acme,1000,410,10,600,0,0,-590,0,400,400,/,
    );

    const archive = readFileSync((await at.run('export5')).path);
    const text = JSON.stringify([readSheet(archive, 1), readSheet(archive, 2)]);
    expect(text).toContain('Consumption (Wh)');
    expect(text).toContain(
      'production 1,000 Wh, consumption 1,360 Wh, self-consumption 400 Wh (40 %), self-supply 400 Wh (29.4 %), of 1 of 19 days',
    );
  },
);

test.each([
  [{ report: 'balance', site: 'nowhere' }, /exports\.0\.site: workgroup acme has no site "nowhere"/],
  [{ report: 'balance', resolution: 'month' }, /exports\.0\.resolution: must be interval or day/],
  [
    { report: 'daily_energy', resolution: 'day' },
    /exports\.0\.resolution: has no effect for daily_energy; use it with balance/,
  ],
  [{ report: 'balance', groupBy: 'source' }, /exports\.0\.groupBy: has no effect for balance/],
])('%j is refused', (one, message) => {
  const parsed = configSchema.safeParse({
    workgroups: [{ id: WORKGROUP, ...settings }],
    exports: [
      {
        id: 'one',
        workgroup: WORKGROUP,
        range: 'yesterday',
        format: 'csv',
        destination: { folder: '/x' },
        ...one,
      },
    ],
  });
  const problems = zodProblems(parsed.error!).map((problem) => `${problem.path}: ${problem.message}`);
  expect(problems.join('\n')).toMatch(message);
});

test('a balance without roles is refused with the missing settings', () => {
  const parsed = configSchema.safeParse({
    workgroups: [{ id: WORKGROUP }],
    exports: [
      {
        id: 'one',
        workgroup: WORKGROUP,
        report: 'balance',
        range: 'yesterday',
        format: 'csv',
        destination: { folder: '/x' },
      },
    ],
  });
  expect(zodProblems(parsed.error!)).toEqual([
    { path: 'exports.0.report', message: 'needs sources with roles, and workgroup acme has none' },
  ]);
});
