import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { checkRecordings } from '../../bench/check-real/check-recordings.ts';
import { readRecordings } from '../../bench/check-real/recordings.ts';
import { compareDays } from '../../src/cli/replay/expected-days.ts';
import { repositoryRoot } from '../support/readme.ts';
import { runCli } from '../support/run-cli.ts';
import { runCommand } from '../support/run-command.ts';
import { tempDir } from '../support/temp-dir.ts';

const DEVICE = '7c9e6679-7425-40de-944b-e07fc1f90ae7';
const checkReal = (...args: string[]) => runCommand(args, { cwd: tempDir(), run: checkRecordings });

/** Two days of a register: 24 kWh each, every hour 1 kWh, with a zero that the register did not count. */
function writeCase(folder: string, name: string, expected?: string[]): void {
  mkdirSync(join(folder, name));
  const energyStreams = [{ field: 'energy', method: 'total_energy', unit: 'kWh', maxPower: '10 kW' }];
  writeFileSync(join(folder, name, 'case.json'), JSON.stringify({ name, table: 'solar', energyStreams }));
  const rows = Array.from({ length: 49 }, (_, hour) => {
    const time = new Date(Date.UTC(2024, 5, 1) + hour * 3_600_000).toISOString();
    return `${time},${DEVICE},roof,${hour === 30 ? 0 : hour === 5 ? 'broken' : 100 + hour}`;
  });
  const table = ['event_time,device_id,source,energy', ...rows].join('\n');
  writeFileSync(join(folder, name, 'readings.csv.gz'), gzipSync(table));
  if (expected) {
    const known = ['day,device_id,source,energy_wh,tolerance_wh', ...expected].join('\n');
    writeFileSync(join(folder, name, 'expected.csv'), known);
  }
}

describe('npm run check:real', () => {
  test('compares every case below a folder, explains each different day, and fails if there is one', async () => {
    const folder = tempDir();
    writeCase(folder, 'bad', [
      `2024-06-01,${DEVICE},roof,24000.4,1`,
      `2024-06-02,${DEVICE},roof,25000,10`,
      `2024-06-03,${DEVICE},roof,1,1`,
    ]);
    writeCase(folder, 'unknown');
    const { code, stdout } = await checkReal(folder, '--json');
    expect(code).toBe(1);
    const { cases } = JSON.parse(stdout);
    expect(cases).toMatchObject([
      {
        name: 'bad',
        verdict: 'differs',
        compared: 3,
        matching: 1,
        missing: 1,
        extra: 0,
        worst: { day: '2024-06-03', source: 'roof', gotWh: null, matches: false },
        messages: 49,
        rejected: { not_a_number: 1 },
      },
      { name: 'unknown', verdict: 'not compared', compared: 0, extra: 2, worst: null, differing: [] },
    ]);
    expect(cases[0].differing).toMatchObject([
      { day: '2024-06-03', gotWh: null, why: { method: null } },
      {
        day: '2024-06-02',
        gotWh: 24_000,
        differenceWh: -1_000,
        why: { method: 'total_energy', flags: ['glitch'], coverage: 1 },
      },
    ]);
    expect(cases[0].differing[1].why.events[0]).toMatch(/^glitch: /);
  });

  test('succeeds with a table if all days are right', async () => {
    const folder = tempDir();
    writeCase(folder, 'good', [`2024-06-02,${DEVICE},roof,24000,0`]);
    const { code, stdout } = await checkReal(join(folder, 'good'));
    expect(code).toBe(0);
    expect(stdout).toMatch(/^good +matches +1 +1 +0 +1 +0 +0 +49 .*1 not_a_number$/m);
    expect(stdout).toContain('1 of 1 cases match');
  });

  test('refuses a folder without cases', async () => {
    const script = join(repositoryRoot, 'bench', 'check-real.ts');
    const { code, stdout, stderr } = await runCli([tempDir()], { cwd: tempDir(), script });
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toContain('no folder in it has a case.json');
  });

  test('lists the known days that cannot be read', async () => {
    const folder = tempDir();
    writeCase(folder, 'a', [`2024-02-30,${DEVICE},roof,,1`]);
    await expect(readRecordings(folder)).rejects.toThrow(/line 2, day: .*\n.*line 2, energy_wh: /);
    await expect(readRecordings(join(folder, 'none'))).rejects.toThrow('cannot be read');
  });
});

test('days are ordered by how much of their tolerance a difference takes, missing ones first', () => {
  const known = (day: string, energyWh: number, toleranceWh: number) => ({
    day,
    device: 'd',
    source: 's',
    energyWh,
    toleranceWh,
  });
  const days = compareDays(
    [known('1', 100, 50), known('2', 100, 0), known('3', 100, 5), known('4', 0, 1_000)],
    { 1: { 'd.s': 140 }, 2: { 'd.s': 100.4 }, 3: { 'd.s': 106 } },
  );
  expect(days.map(({ day, matches }) => [day, matches])).toEqual([
    ['4', false],
    ['3', false],
    ['1', true],
    ['2', false],
  ]);
});
