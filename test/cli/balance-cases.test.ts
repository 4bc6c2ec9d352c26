import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readBalanceCase } from '../../src/cli/replay/balance-case.ts';
import { runCommand } from '../support/run-command.ts';
import { tempDir } from '../support/temp-dir.ts';

const one = {
  id: 'mine',
  timezone: 'Europe/Berlin',
  sources: [
    { device: 'roof', source: 'pv', role: 'production', wh: { '2026-06-01T10:00:00Z': 900 } },
    {
      device: 'house',
      source: 'load',
      role: 'consumption',
      wh: { '2026-06-01T10:00:00Z': 400 },
      unlistedWh: 10,
    },
  ],
  options: { startDate: '2026-06-01', endDate: '2026-06-01', zones: ['Asia/Tokyo'] },
};

async function replay(cases: object[], ...args: string[]) {
  const cwd = tempDir();
  writeFileSync(join(cwd, 'cases.json'), JSON.stringify(cases));
  return runCommand(['replay', 'cases.json', ...args], { cwd });
}

test('replay answers a balance by interval, day, month and zone, with the energy of devices', {
  tags: ['slow'],
}, async () => {
  const { code, stdout } = await replay([one], '--json');
  expect(code).toBe(0);
  const told = (JSON.parse(stdout) as { mine: Record<string, Record<string, Record<string, unknown>>> }).mine;
  expect(Object.keys(told)).toEqual(['intervals', 'day', 'month', 'zones', 'dailyEnergy', 'restWh']);
  expect(told.intervals!['2026-06-01T10:00:00Z']).toMatchObject({ gridExportWh: 500, consumptionWh: 400 });
  expect(Object.keys(told.intervals!)).toHaveLength(96);
  // 95 intervals of 10, and 400.
  const day = { consumptionWh: 1_350, gridImportWh: 950, gridExportWh: 500, autarky: 0.2963, intervals: 96 };
  expect(told.day!['2026-06-01']).toMatchObject(day);
  expect(told.month!['2026-06']).toMatchObject({ consumptionWh: 1_350, days: 1, completeDays: 1 });
  expect(Object.keys(told.zones!)).toEqual(['Etc/UTC', 'Asia/Tokyo']);
  expect(told.dailyEnergy!['2026-06-01']).toEqual({
    house: { energyWh: 1_350, flags: [] },
    roof: { energyWh: 900, flags: [] },
  });
});

test('a case with an invalid configuration prints the reason, the others are computed, and the command fails', {
  tags: ['slow'],
}, async () => {
  const wrong = { ...one, id: 'wrong', sources: [{ ...one.sources[0], role: 'sun' }] };
  const { code, stdout, stderr } = await replay([wrong, one], '--json');
  expect(code).toBe(2);
  const told = JSON.parse(stdout) as Record<string, { error?: string; day?: object }>;
  expect(told.wrong!.error).toMatch(/^roles\.0\.role: must be one of production/);
  expect(told.mine!.day).toBeDefined();
  expect(stderr).toContain('wrong');
});

test('without --json a line is printed for each day', { tags: ['slow'] }, async () => {
  const { stdout } = await replay([one]);
  expect(stdout).toMatch(
    /^mine\nDay +Production Wh .*\n2026-06-01 +900 +950 +0 +1,350 +500 +0 +0 +0\.2963 +netted\n/,
  );
});

const refused = (change: object) => () => readBalanceCase('cases.json', { ...one, ...change }, 0);

test.each<[name: string, change: object, message: RegExp]>([
  ['no source', { sources: [] }, /sources: needs at least one source/],
  [
    'a time within a quarter of an hour',
    { sources: [{ ...one.sources[0], wh: { '2026-06-01T10:05:00Z': 1 } }] },
    /sources\.0\.wh: "2026-06-01T10:05:00Z" is not the start of a quarter of an hour/,
  ],
  [
    'parts of a Wh',
    { sources: [{ ...one.sources[0], wh: { '2026-06-01T10:00:00Z': 1.5 } }] },
    /must be whole Wh/,
  ],
  [
    'a misspelt key',
    { sources: [{ ...one.sources[0], dailyWH: {} }] },
    /sources\.0\.dailyWH: .*is it dailyWh\?/,
  ],
  ['no such zone', { timezone: 'Mars' }, /timezone: is not a time zone/],
  [
    'an end before its start',
    { options: { startDate: '2026-06-02', endDate: '2026-06-01' } },
    /endDate: is before startDate/,
  ],
  ['no day', { sources: [{ device: 'a', source: 'b' }], options: {} }, /options\.startDate: is missing/],
  [
    'centuries',
    { options: { startDate: '1800-01-01', endDate: '2026-06-01' } },
    /at most 5000000 are possible/,
  ],
])('a case with %s is refused', (_, change, message) => {
  expect(refused(change)).toThrow(message);
});

test('absent roles and device settings may be written at either place of a case', () => {
  const absent = ['grid_export' as const];
  for (const change of [
    { absent },
    { options: { ...one.options, absent } },
    { site: { absent } },
    { sites: [{ absent }] },
  ])
    expect(refused(change)().absent).toEqual(absent);
  for (const devices of [
    [{ name: 'roof', energyRole: 'production' }],
    [{ id: 'roof', energyRole: 'production' }],
    { roof: { energyRole: 'production' } },
  ])
    expect(refused({ devices })().workgroup).toMatchObject({ devices: [{ energyRole: 'production' }, {}] });
});
