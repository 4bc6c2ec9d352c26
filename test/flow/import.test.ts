import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { parse, stringify } from 'yaml';
import { loadConfig } from '../../src/config.ts';
import { runCli } from '../support/run-cli.ts';
import { createServiceProcess, queryLake, type ServiceProcess } from '../support/service-process.ts';
import { tempDir } from '../support/temp-dir.ts';

const DEVICE = '7c9e6679-7425-40de-944b-e07fc1f90ae7';
const home = {
  id: 'home',
  timezone: 'Europe/Berlin',
  devices: [{ id: DEVICE, name: 'garage' }],
  energyStreams: [
    { table: 'solar', field: 'total_wh', method: 'total_energy' as const, unit: 'Wh', maxPower: '10 kW' },
  ],
};
const to = ['--workgroup', 'home', '--table', 'solar'];
const energy = `SELECT day::VARCHAR AS day, energy_wh::DOUBLE AS wh FROM daily_energy ORDER BY day`;

/** Local times of Berlin, every five minutes from the first of July on: 1200 Wh a day. */
function csv(rows: number): string {
  const lines = Array.from({ length: rows }, (_, row) => {
    const local = new Date(Date.UTC(2024, 6, 1) + row * 300_000).toISOString().slice(0, 16).replace('T', ' ');
    return `${local};garage;${((100_000 + row * 1_200) / 288).toFixed(4).replace('.', ',')}`;
  });
  return `Zeit;Gerät;Total Wh\n${lines.join('\n')}\n`;
}

/** A folder with a configuration and a file of two days. */
function folderOf(rows: number): string {
  const cwd = tempDir();
  writeFileSync(join(cwd, 'wattline.yaml'), stringify({ logLevel: 'silent', workgroups: [home] }));
  writeFileSync(join(cwd, 'log.csv'), csv(rows));
  return cwd;
}
const twoDays = [
  { day: '2024-07-01', wh: 1200 },
  { day: '2024-07-02', wh: 1200 },
];

test('without a service: a dry run tells the mapping and lands nothing, the import makes the energy, once', async () => {
  const cwd = folderOf(577);
  const dry = await runCli(['import', 'log.csv', ...to, '--dry-run'], { cwd });
  expect(dry).toMatchObject({ code: 0, stderr: '' });
  expect(dry.stdout).toContain(
    '# log.csv: 577 rows, 0 rejected, from 2024-06-30T22:00:00.000Z to 2024-07-02T22:00:00.000Z\n',
  );
  const mapping = parse(dry.stdout);
  expect(mapping).toMatchObject({
    time: { column: 'Zeit', zone: 'Europe/Berlin' },
    device: { id: DEVICE },
    fields: { 'Total Wh': 'total_wh' },
    decimal: ',',
  });
  const config = loadConfig({ cwd, environment: {} });
  expect(await queryLake(config, 'home', energy)).toBeUndefined();

  // What it prints is a mapping file.
  writeFileSync(
    join(cwd, 'mapping.yaml'),
    dry.stdout.replace(/^device:\n {2}id: .*$/m, 'device:\n  column: Gerät'),
  );
  const command = ['import', '*.csv', ...to, '--mapping', 'mapping.yaml', '--json'];
  const first = await runCli(command, { cwd });
  expect(first).toMatchObject({ code: 0, stderr: '' });
  expect(JSON.parse(first.stdout)).toMatchObject({
    files: [
      {
        path: join(cwd, 'log.csv'),
        outcome: { kind: 'landed', counts: { rowsLanded: 577, rowsRejected: 0 } },
      },
    ],
  });
  expect(await queryLake(config, 'home', energy)).toEqual(twoDays);

  const again = await runCli(command, { cwd });
  expect(JSON.parse(again.stdout)).toMatchObject({ files: [{ outcome: { kind: 'landed-before' } }] });
  const words = await runCli(['import', 'log.csv', ...to, '--mapping', 'mapping.yaml'], { cwd });
  expect(words.stdout).toMatch(/^log.csv: nothing to do, imported before at .* \(577 rows, 0 rejected\)\n$/);
  expect(await queryLake(config, 'home', energy)).toEqual(twoDays);
}, 60_000);

/** Runs a command in the folder of a service, while that runs. */
function beside(service: ServiceProcess, args: string[]) {
  return runCli(args, { cwd: join(service.config.dataDir, '..') });
}

test('with a service: the same command asks it, and returns once the report has the energy', async () => {
  const service = await createServiceProcess({
    workgroups: [home],
    pipeline: { rollupEvery: '300ms', publishEvery: '300ms' },
  });
  await service.start();
  const file = join(tempDir(), 'log.csv');
  writeFileSync(file, csv(577));
  const { code, stdout } = await beside(service, ['import', file, ...to, '--json']);
  expect([code, JSON.parse(stdout).files[0].outcome.kind]).toEqual([0, 'landed']);
  const answer = await fetch(
    `${service.url}/api/v1/orgs/home/daily-energy?startDate=2024-07-01&endDate=2024-07-02`,
    {
      headers: { Authorization: `Bearer ${service.token}` },
    },
  );
  expect(await answer.json()).toEqual({ '2024-07-01': { [DEVICE]: 1200 }, '2024-07-02': { [DEVICE]: 1200 } });

  // It is refused before the service is asked, and so is what only the service can find out.
  const missing = await beside(service, ['import', 'nothing-*.csv', ...to]);
  expect(missing).toMatchObject({ code: 2, stdout: '' });
  expect(await service.stop()).toBe(0);
}, 60_000);

test('Ctrl-C leaves an import that the same command goes on with', async () => {
  // No energy stream reads this table, so that only the landing is looked at.
  const unread = ['--workgroup', 'home', '--table', 'unread'];
  const cwd = folderOf(1);
  // Two springs, of each of which an hour was never shown on any clock of Berlin.
  const rows = 240_000;
  const [rowsRejected, rowsLanded] = [24, rows - 24];
  writeFileSync(join(cwd, 'log.csv'), csv(rows));
  const cli = join(import.meta.dirname, '..', '..', 'src', 'cli.ts');
  const child = spawn(
    process.execPath,
    [cli, 'import', 'log.csv', ...unread, '--json', '--log-level', 'debug'],
    {
      cwd,
    },
  );
  onTestFinished(() => void child.kill('SIGKILL'));
  let errors = '';
  child.stderr.on('data', (text) => {
    errors += text;
    // The second batch has landed.
    if (!child.killed && errors.split('land.commit').length > 2) child.kill('SIGINT');
  });
  const [code] = await once(child, 'exit');
  expect(code).toBe(3);
  expect(errors).toContain('the same command goes on where it stopped');
  const config = loadConfig({ cwd, environment: {} });
  expect(await queryLake(config, 'home', energy)).toBeUndefined();

  const again = await runCli(['import', 'log.csv', ...unread, '--json'], { cwd });
  expect(again.code).toBe(0);
  expect(JSON.parse(again.stdout).files).toMatchObject([
    {
      outcome: {
        kind: 'landed',
        resumed: true,
        counts: { rowsLanded, rejected: { no_such_local_time: rowsRejected } },
      },
    },
  ]);
  const messages = await queryLake(
    config,
    'home',
    'SELECT count(*)::DOUBLE AS n, count(DISTINCT event_time)::DOUBLE AS times FROM messages',
  );
  expect(messages).toEqual([{ n: rowsLanded, times: rowsLanded }]);
}, 120_000);

test('what is wrong is told at once, with exit code 2; a file of which nothing can be used with 1', async () => {
  const cwd = folderOf(10);
  for (const [workgroup, table, told] of [
    ['nobody', 'solar', '--workgroup: "nobody" is not configured'],
    ['home', 'a b', '--table: must be'],
  ] as const) {
    const wrong = await runCli(['import', 'log.csv', '--workgroup', workgroup, '--table', table], { cwd });
    expect(wrong.code).toBe(2);
    expect(wrong.stderr).toContain(told);
  }
  writeFileSync(join(cwd, 'mapping.yaml'), 'time: { column: Zeit, zone: Nowhere }\ndevice: {}\n');
  const mapping = await runCli(['import', 'log.csv', ...to, '--mapping', 'mapping.yaml'], { cwd });
  expect(mapping.code).toBe(2);
  for (const path of ['time.zone', 'device', 'fields']) expect(mapping.stderr).toContain(`  ${path}: `);
  writeFileSync(
    join(cwd, 'mapping.yaml'),
    'time: { column: Zeit, format: "%d.%m.%Y" }\ndevice: { id: garage }\nfields: { "Total Wh": total_wh }\n',
  );
  const unusable = await runCli(['import', 'log.csv', ...to, '--mapping', 'mapping.yaml'], { cwd });
  expect(unusable.code).toBe(1);
  expect(unusable.stdout).toContain('nothing imported, none of 10 rows can be used\n  bad_time: 10\n');
  expect(readFileSync(join(cwd, 'log.csv'), 'utf8')).toBe(csv(10));
}, 60_000);
