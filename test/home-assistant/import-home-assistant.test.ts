import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { connectHomeAssistant } from '../../src/home-assistant/connect-home-assistant.ts';
import { type HomeAssistantServer, startHomeAssistant } from '../support/home-assistant.ts';
import { blocksOf } from '../support/readme.ts';
import { runCli } from '../support/run-cli.ts';
import { runCommand } from '../support/run-command.ts';
import { tempDir } from '../support/temp-dir.ts';

/** What the page shows is what is run. */
const page = 'docs/home-assistant.md';
const [config] = blocksOf(page, 'yaml') as [string];
const [map] = blocksOf(page, 'yml') as [string];
const startMs = Date.parse('2025-12-30T00:00:00Z');

/** Seven days of two sensors: 0.5 kWh and 400 W in each hour. */
async function openHome(): Promise<{ server: HomeAssistantServer; cwd: string; args: string[] }> {
  const server = await startHomeAssistant();
  const hours = 7 * 24;
  server.statistics.set('sensor.pv_energy', {
    ...{ unit: 'kWh', kind: 'sum', name: 'PV', startMs },
    values: Array.from({ length: hours }, (_, hour) => (hour + 1) / 2),
  });
  server.statistics.set('sensor.pump_power', {
    ...{ unit: 'kW', kind: 'mean', name: null, startMs },
    values: Array.from({ length: hours }, () => 0.4),
  });
  server.statistics.set('sensor.outside', { unit: '°C', kind: 'mean', name: null, startMs, values: [1] });
  const cwd = tempDir();
  // A second thread costs a fifth more of the processor with few rows.
  writeFileSync(join(cwd, 'wattline.yaml'), `${config}pipeline: { warehouseThreads: 1 }\n`);
  writeFileSync(join(cwd, 'ha.token'), `${server.token}\n`);
  writeFileSync(join(cwd, 'ha.yaml'), map);
  return { server, cwd, args: ['import', 'home-assistant', '--url', server.url, '--token-file', 'ha.token'] };
}

const monthPath = ({ url }: HomeAssistantServer) => `${new URL(url).host}/home-assistant-2025-12.csv`;

test('statistics in any known unit of energy or power are listed, and others are not', async () => {
  const { server, cwd, args } = await openHome();
  server.statistics.set('sensor.heat', { unit: 'MJ', kind: 'sum', name: null, startMs, values: [1] });
  server.statistics.set('sensor.gas', { unit: 'm³', kind: 'sum', name: null, startMs, values: [1] });
  const { code, stdout, stderr } = await runCommand([...args, '--list'], { cwd });
  expect(code, stderr).toBe(0);
  expect(stdout).toMatch(/sensor\.pump_power +power +kW\n/);
  expect(stdout).toMatch(/sensor\.pv_energy +energy +kWh +PV\n/);
  expect(stdout).toMatch(/sensor\.heat +energy +MJ\n/);
  expect(stdout).not.toMatch(/outside|gas/);
});

test('a preview shows the rows of a month, and names it after Home Assistant and not after a temporary file', async () => {
  const { server, cwd, args } = await openHome();
  const range = ['--map', 'ha.yaml', '--until', '2025-12-31'];
  const { code, stdout, stderr } = await runCommand([...args, ...range, '--dry-run', '--json'], { cwd });
  expect(code, stderr).toBe(0);
  expect(JSON.parse(stdout).files).toMatchObject([
    { path: monthPath(server), counts: { rowsLanded: 96, rowsRejected: 0 } },
  ]);
});

test('an import continues after an interruption, and the same statistics are imported once', {
  tags: ['slow'],
}, async () => {
  const { server, cwd, args } = await openHome();
  const range = [...args, '--map', 'ha.yaml', '--until', '2026-01-03'];
  // The connection ends while the last day is read.
  let asked = 0;
  server.onCommand = ({ type }, socket) => {
    if (type === 'recorder/statistics_during_period') asked += 1;
    if (asked === 4) socket.terminate();
  };
  const cut = await runCommand(range, { cwd });
  expect(cut.code).not.toBe(0);
  expect(cut.stderr).toContain('has ended the connection');
  delete server.onCommand;
  const json = async (run = runCommand) => JSON.parse((await run([...range, '--json'], { cwd })).stdout);
  const first = await json(runCli);
  expect(first).toMatchObject({
    files: [
      {
        path: monthPath(server),
        outcome: { kind: 'landed', counts: { rowsLanded: 96 } },
      },
      ...['01', '02', '03'].map((day) => ({
        path: expect.stringContaining(`2026-01-${day}.csv`),
        outcome: { kind: 'landed', counts: { rowsLanded: 48, rowsRejected: 0 } },
      })),
    ],
  });
  // 5 days of 12 kWh without the first hour, because no reading shows its start, and 9.6 kWh a day by the
  // power.
  const sum = (wanted: string) =>
    first.months
      .filter(({ source }: { source: string }) => source === wanted)
      .reduce((total: number, { energyWh }: { energyWh: number }) => total + energyWh, 0);
  expect([sum('pv'), sum('power')]).toEqual([59_500, 48_000]);
  expect((await json()).files.map(({ outcome }: { outcome: { kind: string } }) => outcome.kind)).toEqual(
    Array(4).fill('landed-before'),
  );
});

test('a wrong map, token or address is reported with what to do, and without the token', async () => {
  const { server, cwd, args } = await openHome();
  writeFileSync(join(cwd, 'ha.yaml'), `${map}sensor.outside: { device: cellar }\n`);
  const wrongMap = await runCommand([...args, '--map', 'ha.yaml'], { cwd });
  expect(wrongMap.stderr).toContain(
    'sensor.outside: is not a statistic with energy or power; --list shows them',
  );
  expect(wrongMap.stderr).toContain('"cellar" is neither a configured device nor a UUID');
  server.token = 'another-token';
  const refused = await runCommand([...args, '--list'], { cwd });
  expect(refused.code).not.toBe(0);
  expect(refused.stderr).toContain('refuses the token; create a long-lived access token');
  expect(refused.stderr).not.toContain('a-long-lived');
  const nobody = await runCommand(
    ['import', 'home-assistant', '--url', 'http://127.0.0.1:1', '--token-file', 'ha.token', '--list'],
    { cwd },
  );
  expect(nobody.stderr).toContain('127.0.0.1:1 does not answer');
  const none = await runCommand(args, { cwd });
  expect(none.stderr).toContain('--map: is needed; --list shows');
});

test('commands have ids that grow, and a command that is unknown is an error with its reason', async () => {
  const server = await startHomeAssistant();
  const signal = new AbortController().signal;
  const homeAssistant = await connectHomeAssistant({ url: server.url, token: server.token }, signal);
  expect(await homeAssistant.call('recorder/list_statistic_ids', {})).toEqual([]);
  await expect(homeAssistant.call('recorder/nothing', {})).rejects.toThrow(
    'refuses recorder/nothing (unknown_command: Unknown command.)',
  );
  expect(await homeAssistant.call('recorder/list_statistic_ids', {})).toEqual([]);
  homeAssistant.close();
});
