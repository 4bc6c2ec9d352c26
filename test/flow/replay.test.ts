import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import type { ReplayResult } from '../../src/cli/replay/replay-cases.ts';
import { isSoak } from '../support/rounds.ts';
import { runCli } from '../support/run-cli.ts';
import { runCommand } from '../support/run-command.ts';
import { tempDir } from '../support/temp-dir.ts';

const goldenFile = join(import.meta.dirname, '..', 'golden', 'energy-cases.json');

describe('wattline replay', () => {
  test('gives the golden cases through ingest, stream, poll, land, roll up, publish and report', {
    tags: ['slow'],
  }, async () => {
    const all: Array<{ id: string; readings: unknown[]; expected: Record<string, number> }> = JSON.parse(
      readFileSync(goldenFile, 'utf8'),
    );
    const named = all.filter(({ id }) => id === 'sentinels' || id === 'sources-add-up');
    // test/rollup/golden.test.ts has all of them.
    const cases = isSoak ? all : named;
    const cwd = tempDir();
    writeFileSync(join(cwd, 'cases.json'), JSON.stringify(cases));
    const { code, stdout } = await runCli(['replay', 'cases.json', '--json'], { cwd });
    expect(code).toBe(0);
    const results: Record<string, ReplayResult> = JSON.parse(stdout);
    for (const { id, readings, expected } of cases) {
      const { days, bySource, messages } = results[id]!;
      expect([id, messages, sums(days)]).toEqual([id, readings.length, expected]);
      expect([id, sums(bySource)]).toEqual([id, expected]);
    }
    expect(results.sentinels!.rejected).toBe(3);
    expect(Object.values(results['sources-add-up']!.bySource['2024-06-01']!).sort()).toEqual([4000, 6000]);
  });

  test.runIf(isSoak)(
    'reads a folder with a packed table, in file order, with empty cells, text and devices left out',
    async () => {
      const folder = tempDir();
      const energyStreams = [
        { field: 'energy', method: 'total_energy', unit: 'kWh', maxPower: '10 kW' },
        { field: 'power', method: 'power_curve', unit: 'W', maxGap: '1h' },
      ];
      writeFileSync(
        join(folder, 'case.json'),
        JSON.stringify({ name: 'mine', timezone: 'Europe/Berlin', table: 'solar', energyStreams }),
      );
      const rows = [
        'event_time,device_id,source,energy,power',
        '2024-06-02T00:00:00+02:00,,,15.5,',
        '2024-06-01T00:00:00+02:00,,,10,NaN',
        '2024-06-01T10:00:00Z,7c9e6679-7425-40de-944b-e07fc1f90ae7,roof,,1000',
        '2024-06-01T10:30:00Z,7c9e6679-7425-40de-944b-e07fc1f90ae7,roof,,1000',
      ];
      writeFileSync(join(folder, 'readings.csv.gz'), gzipSync(rows.join('\n')));
      const lone = '2024-06-01,00000000-0000-4000-8000-000000000001,default';
      const other = '7c9e6679-7425-40de-944b-e07fc1f90ae7,roof';
      writeFileSync(
        join(folder, 'expected.csv'),
        `day,device_id,source,energy_wh,tolerance_wh\n${lone},5501,1\n2024-06-01,${other},480,10\n2024-06-02,${other},1,0\n`,
      );
      const { code, stdout } = await runCommand(['replay', folder, '--json'], { cwd: tempDir() });
      expect(code).toBe(0);
      expect(JSON.parse(stdout).mine.compared).toMatchObject([
        { day: '2024-06-02', gotWh: null, matches: false },
        { day: '2024-06-01', gotWh: 500, differenceWh: 20, matches: false },
        { day: '2024-06-01', gotWh: 5500, differenceWh: -1, matches: true },
      ]);
      const text = await runCommand(['replay', folder], { cwd: tempDir() });
      for (const line of [
        /^mine: 4 messages, 4 rejected/m,
        /^ {2}rejected, \w+: \d/m,
        /^Total of +Days +kWh$/m,
        /roof +1 +0\.500$/m,
        /^expected\.csv: 1 of 3 days match$/m,
        /roof +480 +500 +20$/m,
      ])
        expect(text.stdout).toMatch(line);
      expect(JSON.parse(stdout)).toMatchObject({
        mine: {
          days: {
            '2024-06-01': {
              '00000000-0000-4000-8000-000000000001': 5500,
              '7c9e6679-7425-40de-944b-e07fc1f90ae7': 500,
            },
          },
          bySource: {
            '2024-06-01': {
              '00000000-0000-4000-8000-000000000001.default': 5500,
              '7c9e6679-7425-40de-944b-e07fc1f90ae7.roof': 500,
            },
          },
          messages: 4,
          rejected: 4,
        },
      });
    },
  );

  test('refuses a table with the command that reads it', async () => {
    const cwd = tempDir();
    for (const name of ['export.csv', 'export.CSV.gz', 'export.xlsx', 'export.parquet']) {
      writeFileSync(join(cwd, name), 'time;energy\n');
      const { code, stderr } = await runCommand(['replay', name], { cwd });
      expect(code).toBe(2);
      expect(stderr).toContain(`"wattline import ${name} --table <name> --dry-run"`);
    }
  });

  test.each([
    ['a folder without case.json', () => tempDir(), 'case.json'],
    ['a file that is no JSON', () => file('{'), 'is not valid JSON'],
    [
      'an unknown unit',
      () =>
        file(
          JSON.stringify([
            { id: 'a', energyStreams: [{ field: 'e', method: 'total_energy', unit: 'kwh' }], readings: [] },
          ]),
        ),
      'kwh',
    ],
    [
      'a time without a zone',
      () =>
        file(
          JSON.stringify([
            {
              id: 'a',
              energyStreams: [{ field: 'e', method: 'total_energy' }],
              readings: [{ event_time: '2024-06-01T00:00:00', data: {} }],
            },
          ]),
        ),
      'readings.0.event_time',
    ],
  ])('refuses %s with what is wrong and where', async (_what, make, words) => {
    const { code, stdout, stderr } = await runCommand(['replay', make(), '--json'], { cwd: tempDir() });
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toContain(words);
  });
});

/** Wh by day, all series together. */
function sums(days: Record<string, Record<string, number>>): Record<string, number> {
  return Object.fromEntries(
    Object.entries(days).map(([day, series]) => [
      day,
      Object.values(series).reduce((sum, wh) => sum + wh, 0),
    ]),
  );
}

function file(text: string): string {
  const path = join(tempDir(), 'cases.json');
  writeFileSync(path, text);
  return path;
}
