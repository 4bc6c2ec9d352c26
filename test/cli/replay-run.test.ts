// @module-tag slow
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { runCommand } from '../support/run-command.ts';
import { tempDir } from '../support/temp-dir.ts';

/** A report has at most 1,800 days. The days of the cases are further apart. */
const first = '2018-06-01';
const energyStreams = [
  { table: 'solar', field: 'power', method: 'power_curve', unit: 'W', maxGap: '1h' },
  { table: 'heat', field: 'power', method: 'power_curve', unit: 'kW', maxGap: '1h' },
];

function reading(table: string, event_time: string, power: number, device?: string) {
  return { table, event_time, device, source: table, data: { power } };
}

function fileOf(cases: object[]): string {
  const path = join(tempDir(), 'cases.json');
  writeFileSync(path, JSON.stringify(cases.map((one) => ({ timezone: 'Etc/UTC', energyStreams, ...one }))));
  return path;
}

test('readings of several tables and of days far apart are reported, and one refused reading fails its case', async () => {
  const path = fileOf([
    {
      id: 'refused',
      readings: [
        reading('solar', `${first}T10:00:00Z`, 1_000),
        reading('heat', `${first}T10:00:00Z`, 0.6),
        reading('heat', `${first}T10:30:00Z`, 0.6, 'roof'),
      ],
    },
    {
      id: 'years',
      // One table after the other, and the newest reading first.
      readings: [
        reading('solar', '2024-06-01T10:30:00Z', 1_000),
        reading('heat', `${first}T10:00:00Z`, 0.6),
        reading('solar', '2024-06-01T10:00:00Z', 1_000),
        reading('heat', `${first}T10:30:00Z`, 0.6),
      ],
    },
  ]);
  const { code, stdout } = await runCommand(['replay', path, '--json'], { cwd: tempDir() });
  const { refused, years } = JSON.parse(stdout);
  const device = '00000000-0000-4000-8000-000000000001';
  expect(years).toMatchObject({
    days: { [first]: { [device]: 300 }, '2024-06-01': { [device]: 500 } },
    bySource: { [first]: { [`${device}.heat`]: 300 }, '2024-06-01': { [`${device}.solar`]: 500 } },
    failed: [],
    messages: 4,
    rejected: 0,
  });
  expect(Object.keys(years.days)).toHaveLength(2);
  expect(refused).toMatchObject({ days: {}, bySource: {}, flags: {}, messages: 0 });
  expect(refused.failed).toEqual([
    {
      series: null,
      error: expect.stringMatching(
        /^the stream rejected readings of case refused: .*\n {2}reading 3: device must be a UUID$/,
      ),
    },
  ]);
  expect(code).toBe(2);
});

test('a line of readings that is no reading ends the command and is named', async () => {
  const folder = tempDir();
  writeFileSync(join(folder, 'case.json'), JSON.stringify({ name: 'mine', table: 'solar', energyStreams }));
  const rows = ['event_time,power', `${first}T10:00:00Z,1000`, 'noon,1000'];
  writeFileSync(join(folder, 'readings.csv'), rows.join('\n'));
  const { code, stdout, stderr } = await runCommand(['replay', folder, '--json'], { cwd: tempDir() });
  expect([code, stdout]).toEqual([2, '']);
  expect(JSON.parse(stderr)).toMatchObject({
    message: expect.stringContaining('readings.csv has a problem'),
    problems: [{ path: 'line 3, event_time', message: expect.stringContaining('"noon" is not an instant') }],
  });
});
