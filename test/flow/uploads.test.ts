import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { stringify } from 'yaml';
import { loadConfig } from '../support/load-config.ts';
import { runCli } from '../support/run-cli.ts';
import { runCommand } from '../support/run-command.ts';
import { createServiceProcess, queryLake } from '../support/service-process.ts';
import { tempDir } from '../support/temp-dir.ts';
import { until } from '../support/until.ts';

const home = {
  id: 'home',
  timezone: 'Europe/Berlin',
  meters: [{ code: 'GRID-1', direction: 'import' as const }, { code: 'PV' }],
};
/** Months by number, as a tool writes them: 1000.5 kWh in January, one more each month. */
const target = `Our plant\n\nmonth;target_kwh\n${Array.from({ length: 12 }, (_, month) => `${month + 1};${1000 + month},5`).join('\n')}\nTotal;12072\n`;
const readings = 'time;value (kWh)\n2026-05-01 00:00;100,5\n2026-06-01 00:00;150,25\n2026-07-01 00:00;20\n';
const said = ['--year', '2026', '--meter', 'PV', '--scenario', 'P50'];

test('without a service: files are checked, stored, published and listed, and a refused one leaves nothing', async () => {
  const cwd = tempDir();
  writeFileSync(
    join(cwd, 'wattline.yaml'),
    stringify({ logLevel: 'silent', pipeline: { warehouseThreads: 1 }, workgroups: [home] }),
  );
  writeFileSync(join(cwd, 'target.csv'), target);
  writeFileSync(join(cwd, 'readings.csv'), readings);
  const config = loadConfig({ cwd, environment: {} });
  const run = (...args: string[]) => runCommand(args, { cwd });
  const dry = await run('budget', 'put', 'target.csv', ...said, '--dry-run');
  expect(dry).toMatchObject({
    code: 0,
    stderr: '',
    stdout: expect.stringMatching(
      /^target.csv: 12 periods, no problems\n.*\nPV +P50 +12 +2026-01-01 +2026-12-31 +12,072\n$/,
    ),
  });
  expect(await queryLake(config, 'home', 'FROM budget')).toBeUndefined();

  const refused = await run('meter-data', 'put', 'readings.csv', '--meter', 'GRID-1');
  expect(refused).toMatchObject({ code: 2, stdout: '' });
  expect(refused.stderr).toMatch(/readings.csv has 3 problems:\n {2}line 2, column "time": .*--timezone/);

  expect(await run('budget', 'put', 'target.csv', ...said)).toMatchObject({
    code: 0,
    stderr: '',
    stdout: 'target.csv: 12 rows stored, revision 1\n',
  });
  expect(await run('budget', 'put', 'target.csv', ...said)).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^target.csv: nothing to do, .*--again/),
  });
  const put = await run(
    'meter-data',
    'put',
    'readings.csv',
    '--meter',
    'GRID-1',
    '--timezone',
    'Europe/Berlin',
    '--json',
  );
  expect(JSON.parse(put.stdout)).toMatchObject({
    files: [{ outcome: { kind: 'stored', stored: 3, revision: 1 } }],
  });

  expect(
    await queryLake(
      config,
      'home',
      'SELECT sum(energy_wh)::INTEGER AS wh, count(*)::INTEGER AS n FROM budget WHERE is_current',
    ),
  ).toEqual([{ wh: 12_072_000, n: 12 }]);
  expect(
    await queryLake(
      config,
      'home',
      'SELECT epoch_ms(interval_start)::DOUBLE AS start, energy_wh, quality, direction FROM meter_reading ORDER BY interval_start',
    ),
  ).toEqual([
    { start: Date.UTC(2026, 3, 30, 22), energy_wh: 49_750, quality: 'measured', direction: 'import' },
    { start: Date.UTC(2026, 4, 31, 22), energy_wh: null, quality: 'fault', direction: 'import' },
  ]);
  const listed = await run('meter-data', 'list', '--json');
  expect(JSON.parse(listed.stdout)).toMatchObject([
    { meter: 'GRID-1', fromRegister: true, readings: 2, energyWh: 49_750, faults: 1, revision: 1 },
  ]);
});

test('with a running service, uploads go through it and are in the audit log and the lake', async () => {
  const service = await createServiceProcess({
    workgroups: [home],
    pipeline: { publishEvery: '300ms', rollupEvery: '300ms' },
  });
  await service.start();
  const cwd = join(service.config.dataDir, '..');
  const file = join(tempDir(), 'target.csv');
  writeFileSync(file, target);
  const put = () =>
    fetch(`${service.url}/api/v1/orgs/home/budget-data?scenario=reforecast&name=june.csv`, {
      method: 'PUT',
      headers: { Authorization: `Bearer ${service.token}`, 'Content-Type': 'text/csv' },
      body: 'meter_code,period,energy_kwh\nPV,2026-06,2\n',
    });
  // Until the worker has opened the warehouse, the answer is to try again later.
  let answer = await put();
  await until('the worker has the warehouse open', async () => {
    if (answer.status === 503) answer = await put();
    return answer.status !== 503;
  });
  expect([answer.status, await answer.json()]).toMatchObject([
    200,
    { outcome: 'stored', accepted: 1, revision: 1 },
  ]);
  const first = await runCli(['budget', 'put', file, ...said], { cwd });
  expect(first).toMatchObject({ code: 0, stdout: 'target.csv: 12 rows stored, revision 1\n' });
  expect(first.stderr).toContain('the service publishes it within seconds');
  const readingsFile = join(tempDir(), 'readings.csv');
  writeFileSync(readingsFile, readings);
  const grid = ['--meter', 'GRID-1', '--timezone', 'Europe/Berlin'];
  expect(await runCommand(['meter-data', 'put', readingsFile, ...grid], { cwd })).toMatchObject({ code: 0 });
  const rows = () =>
    queryLake(
      service.config,
      'home',
      `SELECT action, actor, target, data->>'stored' AS stored, data->>'revision' AS revision FROM audit_log
       WHERE action LIKE '%.uploaded' ORDER BY event_time`,
    );
  await until('the audit log has them', async () => (await rows().catch(() => []))?.length === 3);
  const local = expect.stringMatching(/^local:/);
  expect(await rows()).toMatchObject([
    {
      action: 'budget.uploaded',
      actor: expect.stringMatching(/^token:.* test$/),
      target: 'june.csv',
      stored: '1',
    },
    { action: 'budget.uploaded', actor: local, target: 'target.csv', stored: '12' },
    { action: 'meter_data.uploaded', actor: local, target: 'readings.csv', stored: '3', revision: '1' },
  ]);
  expect(
    await queryLake(
      service.config,
      'home',
      'SELECT scenario, count(*)::INTEGER AS n FROM budget GROUP BY scenario ORDER BY n',
    ),
  ).toEqual([
    { scenario: 'reforecast', n: 1 },
    { scenario: 'P50', n: 12 },
  ]);
  const openapi = (await (await fetch(`${service.url}/openapi.json`)).json()) as {
    paths: Record<string, { put?: { requestBody?: { content: object } } }>;
  };
  expect(
    Object.keys(openapi.paths['/api/v1/orgs/{workgroupId}/budget-data']!.put!.requestBody!.content),
  ).toEqual(['text/csv', 'application/x-ndjson', 'application/json']);
  expect(await service.stop()).toBe(0);
});
