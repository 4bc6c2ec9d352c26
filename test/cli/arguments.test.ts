import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { chooseDevice } from '../../src/cli/choose-device.ts';
import { chooseWorkgroup } from '../../src/cli/choose-workgroup.ts';
import { dayOf } from '../../src/cli/explain/explain-command.ts';
import { findFiles } from '../../src/cli/import/mapping-files.ts';
import { listenOn } from '../../src/cli/listen-options.ts';
import { configSchema } from '../../src/config/config.ts';
import { workgroupSchema } from '../../src/config/workgroup-settings.ts';
import { runCommand } from '../support/run-command.ts';
import { tempDir } from '../support/temp-dir.ts';

const GARAGE = '7c9e6679-7425-40de-944b-e07fc1f90ae7';
const home = {
  id: 'home',
  timezone: 'Europe/Paris',
  devices: [{ id: GARAGE, name: 'garage' }],
  meters: [{ code: 'GRID-1', direction: 'import' }],
};
const ofHome = ['-w', 'home'];

/** Runs commands in a folder with this configuration. Nothing else is there. */
function setUp(config: object = { workgroups: [home, { id: 'other' }] }) {
  const cwd = tempDir();
  writeFileSync(join(cwd, 'wattline.yaml'), JSON.stringify({ dataDir: './data', ...config }));
  return { cwd, run: (...args: string[]) => runCommand(args, { cwd }) };
}

test.each<[code: number, words: string | RegExp, args: string[]]>([
  [
    2,
    '--until: must be after --since',
    ['changes', ...ofHome, '--since', '2026-05-17', '--until', '2026-05-16'],
  ],
  [
    2,
    '--until: must be after --since',
    ['changes', ...ofHome, '--since', '2026-05-17T12:00:00Z', '--until', '2026-05-17T12:00:00Z'],
  ],
  [2, '--since: "noon" is neither a day such as 2026-11-20', ['changes', ...ofHome, '--since', 'noon']],
  [2, '--device: "shed" is neither a device id', ['changes', ...ofHome, '--since', 'today', '-d', 'shed']],
  [2, '--source: gaps are filled from the stream', ['backfill', ...ofHome, '--gaps', '--source', 'archive']],
  [2, '--source: use "wattline import <files>"', ['backfill', ...ofHome, '--source', 'files']],
  [2, '--from: is missing: give the start', ['backfill', ...ofHome]],
  [2, 'Use a whole number above 0', ['backfill', ...ofHome, '--gaps', '--messages-per-second', '0']],
  [2, 'Use a whole number above 0', ['backfill', 'cancel', '0', ...ofHome]],
  [2, 'condition: must be one of all, dataLossAhead,', ['alerts', 'snooze', 'lag', ...ofHome]],
  [2, '--for: must be a duration from 1m to 30d', ['alerts', 'snooze', 'all', ...ofHome, '--for', '59s']],
  [2, '--for: must be a duration from 1m to 30d', ['alerts', 'snooze', 'all', ...ofHome, '--for', '31d']],
  [3, 'no worker runs for this workgroup', ['alerts', 'snooze', 'all', ...ofHome, '--for', '30d']],
  [3, 'no worker runs for this workgroup', ['alerts', 'snooze', 'disk', ...ofHome, '--for', '0']],
  [2, 'channel: no channel is configured', ['alerts', 'test']],
  [2, 'Use a duration such as 12h or 30d', ['token', 'create', 'a', ...ofHome, '--expires', '999ms']],
  [2, 'day: "2026-02-30" is not an existing day', ['explain', 'garage', '2026-02-30', ...ofHome]],
  [2, '--workgroup: is missing; configured are home, other', ['explain', 'garage', 'today']],
  [2, '--workgroup: "home1" is not configured; configured are home, other', ['retry', '-w', 'home1']],
  [2, /device: "shed" is neither .* configured names are garage$/m, ['retry', 'shed', ...ofHome]],
  [2, /--token-file: .*missing cannot be read \(ENOENT\)/, ['mcp', '--token-file', 'missing']],
  [2, 'id: "x" is not a configured export', ['exports', 'run', 'x']],
  [2, '--period: "2026-13" is not a day', ['exports', 'show', 'x', '--period', '2026-13']],
  [2, '--table: is needed', ['import', 'wattline.yaml', ...ofHome]],
  [2, 'none.csv: is neither a file nor a pattern', ['import', 'none.csv', ...ofHome, '-t', 'solar']],
  [2, '"yesterday" must be the number of a commit, or a time', ['restore', ...ofHome, '--at', 'yesterday']],
])('exits with %i and says %s for %j', async (code, words, args) => {
  const result = await setUp().run(...args);
  const stderr = typeof words === 'string' ? expect.stringContaining(words) : expect.stringMatching(words);
  expect(result).toEqual({ code, stdout: '', stderr });
});

test('an upload of several files names the wrong ones, and a dry run of right ones stores nothing', async () => {
  const { cwd, run } = setUp({ workgroups: [home] });
  const heading = 'meter_code,interval_start,interval_end,energy_kwh';
  const from = '2026-05-17T13:00+02:00';
  writeFileSync(join(cwd, 'right.csv'), `${heading}\nGRID-1,${from},2026-05-17T13:15+02:00,1.25\n`);
  writeFileSync(join(cwd, 'wrong.csv'), `${heading}\nGRID-1,${from},later,1.25\n`);
  const put = (...args: string[]) => run('meter-data', 'put', ...args);
  for (const more of [[], ['--dry-run']]) {
    const refused = await put('right.csv', 'wrong.csv', ...more);
    expect(refused).toMatchObject({ code: 2, stdout: '' });
    expect(refused.stderr).toMatch(/wrong\.csv: line 2, column "interval_end": "later" is not a time/);
    expect(refused.stderr).not.toContain('right.csv');
  }
  const column = await put('right.csv', '--dry-run', '--column', 'energy');
  expect(column.stderr).toContain('--column: "energy" must be <role>=<column>, such as energy=E-Total');
  const checked = await put('right.csv', '--dry-run');
  expect(checked).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^right\.csv: 1 interval, no problems\n/),
  });
  expect(await run('meter-data', 'list')).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('no readings were uploaded yet'),
  });
});

test('a test of the alerts is sent to the named channel only, and fails if a channel does not take it', async () => {
  const paths: string[] = [];
  const server = createServer((request, response) => {
    paths.push(request.url!);
    response.writeHead(request.url === '/good' ? 200 : 403).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const channels = ['good', 'bad'].map((id) => ({ id, webhook: { url: `${url}/${id}` } }));
  const { run } = setUp({ workgroups: [home], alerts: { channels } });
  expect(await run('alerts', 'test', 'good')).toMatchObject({ code: 0, stdout: 'good: sent\n' });
  expect(paths).toEqual(['/good']);
  expect((await run('alerts', 'test', 'bad')).stderr).toContain('1 of 1 channel has not taken the message');
  const both = await run('alerts', 'test');
  expect(both.code).toBe(3);
  expect(both.stdout).toMatch(/^good: sent\nbad: refused: .*403/);
  expect(both.stderr).toContain('1 of 2 channels have not taken the message');
  expect((await run('alerts', 'test', 'none')).stderr).toContain(
    'channel: "none" is not configured; configured are good, bad',
  );
});

test('of several workgroups one must be named, and the only one need not be', () => {
  const config = configSchema.parse({ workgroups: [{ id: 'a' }, { id: 'b' }] });
  const only = { ...config, workgroups: config.workgroups.slice(0, 1) };
  expect(chooseWorkgroup(config, 'b').id).toBe('b');
  expect(chooseWorkgroup(only, undefined).id).toBe('a');
  expect(() => chooseWorkgroup(only, 'c')).toThrow('"c" is not configured; configured are a');
  expect(() => chooseWorkgroup({ ...config, workgroups: [] }, 'c')).toThrow('no workgroup is configured');
});

test('an unknown device is refused with at most twenty of the configured names', () => {
  const devices = Array.from({ length: 21 }, (_, at) => ({
    id: GARAGE.replace(/..$/, String(at + 10)),
    name: `n${at}`,
  }));
  const workgroup = workgroupSchema.parse({ id: 'home', devices });
  expect(chooseDevice(workgroup, 'n20')).toBe(devices[20]!.id);
  expect(() => chooseDevice(workgroup, 'shed')).toThrow(/configured names are n0, .*, n19$/m);
});

test('today and yesterday are days of the zone of the workgroup', () => {
  const workgroup = workgroupSchema.parse(home);
  const clock = { now: () => Date.parse('2026-05-17T22:30:00Z') };
  expect(['today', 'yesterday', '2026-05-01'].map((text) => dayOf(text, workgroup, clock))).toEqual([
    '2026-05-18',
    '2026-05-17',
    '2026-05-01',
  ]);
});

test('the command line decides the address and the port of its role, and else the configuration', () => {
  const config = configSchema.parse({ http: { host: '10.0.0.1', port: 1, streamPort: 2, reportPort: 3 } });
  expect(listenOn(config, 'streamPort', {}).http).toEqual(config.http);
  expect(listenOn(config, 'streamPort', { host: '::1', port: 0 }).http).toEqual({
    ...config.http,
    host: '::1',
    streamPort: 0,
  });
});

test('files are found once, and files of a pattern in the order of their names', () => {
  const cwd = tempDir();
  for (const name of ['b.csv', 'd[1].csv', 'c.csv', 'a.csv']) writeFileSync(join(cwd, name), '');
  const found = findFiles(['d[1].csv', '*.csv', 'b.csv'], cwd);
  expect(found).toEqual(['d[1].csv', 'a.csv', 'b.csv', 'c.csv'].map((name) => join(cwd, name)));
  expect(() => findFiles(['x.csv', 'a.csv', '*.xlsx'], cwd)).toThrow(
    /x\.csv: is neither.*\n.*\*\.xlsx: is neither/,
  );
});
