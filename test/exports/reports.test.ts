import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { type ConfigInput, configSchema } from '../../src/config/config.ts';
import { zodProblems } from '../../src/config/zod-problems.ts';
import { newRun } from '../../src/exports/due-periods.ts';
import { parsePeriod } from '../../src/exports/export-period.ts';
import { openFolderLedger } from '../../src/exports/folder-ledger.ts';
import { markOutdated } from '../../src/exports/mark-outdated.ts';
import { writeExportFile } from '../../src/exports/write-export-file.ts';
import { openLakeReader } from '../../src/report/lake/lake-reader.ts';
import { storeDays, WORKGROUP } from '../publish/publish-fixture.ts';
import { budget, budgets, intervals, openMeters, readings } from '../report/meter-support.ts';
import { deviceId } from '../support/messages.ts';
import { readSheet } from './xlsx.ts';

type ExportInput = NonNullable<ConfigInput['exports']>[number];
const settings = {
  timezone: 'Europe/Berlin',
  meters: [{ code: 'GRID-1', name: '+Übergabe' }, { code: 'PV', device: deviceId(1) }, { code: 'NEW' }],
  sites: [
    { name: 'Halle Ost', meters: [{ code: 'GRID-1' }, { code: 'NEW' }], devices: [{ id: deviceId(1) }] },
    { name: 'Dach', meters: [{ code: 'GRID-1' }], devices: [{ id: deviceId(1) }] },
  ],
};

/** Meters with a budget and three days of readings, and files made of them as exports make them. */
async function openFiles() {
  const at = await openMeters(settings);
  const folder = join(at.dataDir, 'exports');
  mkdirSync(folder);
  const lake = await openLakeReader({ lakeDir: at.lakeDir, writeFolders: [folder] });
  onTestFinished(() => lake.close());
  await storeDays(
    at.shard,
    [1, 2, 3].map((date) => ({ day: `2026-05-0${date}`, device: 1, energyWh: 1_000 * date })),
  );
  await at.put(
    budgets(
      budget('GRID-1', '2026', 365_000),
      budget('NEW', '2026-06', 3_000),
      budget('GRID-1', '2026', 730_000, 'P90'),
    ),
  );
  // The third day lacks its last hour.
  await at.put(intervals(...readings('GRID-1', '2026-04-30T22:00Z', 1, Array(71).fill(50))));
  const openOne = (input: Partial<ExportInput>) => {
    const parsed = configSchema.parse({
      workgroups: [{ id: WORKGROUP, ...settings }],
      exports: [
        {
          id: 'one',
          workgroup: WORKGROUP,
          report: 'variance',
          range: 'last_month',
          format: 'csv',
          destination: { folder },
          ...input,
        },
      ],
    });
    return { config: parsed.exports[0]!, workgroup: parsed.workgroups[0]! };
  };
  return {
    ...at,
    lake,
    openOne,
    async write(input: Partial<ExportInput>, period: string) {
      const opened = openOne(input);
      const { format } = opened.config;
      const query = { ...opened, period: parsePeriod(period)! };
      const request = { query, format, name: `file.${format}`, folder };
      const file = await writeExportFile(lake, (await lake.newestGeneration(WORKGROUP))!, request);
      const bytes = readFileSync(join(folder, file.name));
      return { file, bytes, lines: bytes.toString().trimEnd().split('\r\n') };
    },
  };
}

const range = 'startDate=2026-05-01&endDate=2026-05-03';
const days = '2026-05-01_to_2026-05-03';

test('meter data, budgets, reconciliation and variance are exported as their endpoints answer', {
  tags: ['slow'],
}, async () => {
  const at = await openFiles();
  const json = async (input: Partial<ExportInput>) =>
    JSON.parse((await at.write({ ...input, format: 'json' }, days)).bytes.toString());
  const site = 'Halle Ost';
  const path = `sites/${encodeURIComponent('Dach')}`;
  expect(await json({ report: 'meter_data' })).toEqual(await at.ask(`meter-data?${range}`));
  expect(await json({ report: 'budget_data', scenario: 'p90', meters: ['GRID-1'] })).toEqual(
    await at.ask(`budget-data?${range}&scenario=P90&meterCodes=GRID-1`),
  );
  expect(await json({ report: 'reconciliation', site: 'Dach' })).toEqual(
    await at.ask(`${path}/reconciliation?${range}`),
  );
  expect(await json({ site: 'Dach', scenario: 'P90' })).toEqual(
    await at.ask(`${path}/variance?${range}&scenario=P90`),
  );

  expect((await at.write({ report: 'meter_data' }, days)).lines).toEqual([
    'day,meter,meter_name,energy_wh,quality,flags,coverage,revision,kind,device,source',
    "2026-05-01,GRID-1,'+Übergabe,1200,measured,,1.0,1,uploaded,,",
    `2026-05-01,PV,,1000,measured,,1.0,1,derived,${deviceId(1)},`,
    "2026-05-02,GRID-1,'+Übergabe,1200,measured,,1.0,1,uploaded,,",
    `2026-05-02,PV,,2000,measured,,1.0,1,derived,${deviceId(1)},`,
    "2026-05-03,GRID-1,'+Übergabe,1150,measured,partial,0.9583,1,uploaded,,",
    `2026-05-03,PV,,3000,measured,,1.0,1,derived,${deviceId(1)},`,
  ]);
  expect((await at.write({ report: 'budget_data', meters: ['GRID-1'] }, '2026-05-01')).lines).toEqual([
    'day,meter,meter_name,scenario,budget_wh,period_start,period_end,period_wh,revision,uploaded_at',
    "2026-05-01,GRID-1,'+Übergabe,P50,1000,2026-01-01,2026-12-31,365000,1,2026-11-20T12:00:00Z",
  ]);
  const dach = await at.write({ report: 'reconciliation', site: 'Dach' }, days);
  expect(dach.lines).toEqual([
    'day,site,meters_wh,devices_wh,difference_wh,difference_percent,estimated,missing',
    '2026-05-01,Dach,1200,1000,200,16.67,false,',
    '2026-05-02,Dach,1200,2000,-800,-66.67,false,',
    '2026-05-03,Dach,,,,,,GRID-1: readings cover 95.8 % of the day',
  ]);
  // The total is the energy of the meters, not the difference.
  expect(dach.file).toMatchObject({ rows: 3, energyWh: 2400 });
  expect((await at.write({ site }, days)).file).toMatchObject({ energyWh: 3550 });
  expect((await at.write({ site }, days)).lines).toEqual([
    'day,site,scenario,actual_wh,budget_wh,variance_wh,variance_percent,partial',
    '2026-05-01,Halle Ost,P50,1200,1000,200,20.0,false',
    '2026-05-02,Halle Ost,P50,1200,1000,200,20.0,false',
    '2026-05-03,Halle Ost,P50,1150,1000,150,15.0,true',
  ]);
  const sheet = (await at.write({ site, format: 'xlsx' }, days)).bytes;
  expect(readSheet(sheet, 1)).toHaveLength(4);
  expect(readSheet(sheet, 2)).toContainEqual([
    'In all',
    '3,550 Wh, budget 3,000 Wh, variance 550 Wh (18.33 %), of 3 of 3 days',
  ]);
  expect(readSheet(sheet, 2)).toContainEqual(['Meters without a budget (left out)', 'NEW']);
  expect(readSheet(sheet, 2)).toContainEqual(['Scenarios', 'GRID-1: P50']);
  // Each meter has its own scenario: NEW has only P50 in May, and GRID-1 has a contract from the 2nd on.
  await at.put(
    budgets(budget('NEW', '2026-05', 3_100), budget('GRID-1', '2026-05-02/2026-05-31', 60_000, 'contract')),
  );
  const chosen = (await at.write({ report: 'budget_data' }, days)).lines;
  expect(chosen.map((line) => line.split(',').slice(0, 5).join())).toEqual([
    'day,meter,meter_name,scenario,budget_wh',
    "2026-05-01,GRID-1,'+Übergabe,P50,1000",
    '2026-05-01,NEW,,P50,100',
    "2026-05-02,GRID-1,'+Übergabe,contract,2000",
    '2026-05-02,NEW,,P50,100',
    "2026-05-03,GRID-1,'+Übergabe,contract,2000",
    '2026-05-03,NEW,,P50,100',
  ]);
  expect((await at.write({ site: 'Halle Ost' }, days)).lines.map((line) => line.split(',')[2])).toEqual([
    'scenario',
    'P50',
    '"contract',
    '"contract',
  ]);
  expect(await json({ report: 'budget_data' })).toEqual(await at.ask(`budget-data?${range}`));
  expect((await at.write({ report: 'budget_data' }, '2019')).file).toMatchObject({ rows: 0, days: [] });
  await expect(at.write({ site, scenario: 'P10' }, days)).rejects.toThrow(
    'scenario: no budget of these meters has the scenario "P10"; the scenarios are P50, P90',
  );
});

test('a variance is outdated if a reading or budget of its days has changed, and not for other days', {
  tags: ['slow'],
}, async () => {
  const at = await openFiles();
  const opened = at.openOne({ site: 'Halle Ost' });
  const ledger = openFolderLedger(at.dataDir, 'one');
  const open = { ...opened, ledger };
  for (const period of ['2026-05', '2026-06']) {
    const { file } = await at.write({ site: 'Halle Ost' }, period);
    const run = newRun(open, parsePeriod(period)!, { revision: 1, reason: 'schedule', nowMs: 0 });
    await ledger.save({ ...run, state: 'delivered', file });
  }
  const outdated = async () => {
    const found = await markOutdated(open, at.lake, (await at.lake.newestGeneration(WORKGROUP))!, 0);
    return found.map(({ period, outdated: changed }) => ({ period, days: changed!.days }));
  };
  // Together both months have a budget of NEW, May alone has none.
  expect(await outdated()).toEqual([]);
  await at.put(intervals(...readings('GRID-1', '2026-05-03T21:00Z', 1, [50])));
  expect(await outdated()).toEqual([
    { period: '2026-05', days: [{ day: '2026-05-03', beforeWh: 150, afterWh: 200 }] },
  ]);
  // A run that is outdated already is not reported again, and its mark follows the lake.
  await at.put(intervals(...readings('GRID-1', '2026-05-03T21:00Z', 1, [60])));
  expect(await outdated()).toEqual([]);
  expect((await ledger.runsOf('2026-05'))[0]!.outdated!.days).toMatchObject([{ afterWh: 210 }]);
  await at.put(budgets(budget('NEW', '2026-06', 6_000)));
  expect(await outdated()).toMatchObject([{ period: '2026-06' }]);
  expect((await ledger.runsOf('2026-06'))[0]!.outdated!.days).toHaveLength(30);
  // Another question has no older state, and a period without a file has none either.
  const planned = newRun(open, parsePeriod('2026-04')!, { revision: 1, reason: 'schedule', nowMs: 0 });
  await ledger.save(planned);
  const before = await ledger.runs();
  const other = { ...open, config: at.openOne({ site: 'Dach' }).config };
  expect(await markOutdated(other, at.lake, (await at.lake.newestGeneration(WORKGROUP))!, 0)).toEqual([]);
  expect(await ledger.runs()).toEqual(before);
  expect(await outdated()).toEqual([]);
});

test('the subject of an export must exist, and each setting must fit the report', () => {
  const problemsOf = (input: object) => {
    const parsed = configSchema.safeParse({
      workgroups: [
        { id: 'home', ...settings, sites: [...settings.sites, { name: 'bare', meters: [{ code: 'PV' }] }] },
        { id: 'empty' },
      ],
      exports: [
        {
          id: 'one',
          workgroup: 'home',
          range: 'yesterday',
          format: 'csv',
          destination: { folder: 'out' },
          ...input,
        },
      ],
    });
    return parsed.success ? [] : zodProblems(parsed.error).map(({ path, message }) => `${path}: ${message}`);
  };
  expect(problemsOf({ report: 'meter_data', meters: ['PV'] })).toEqual([]);
  expect(problemsOf({ report: 'meter_data', meters: ['PV', 'GRID-2'] })).toEqual([
    'exports.0.meters.1: no meter of workgroup home has the code "GRID-2"; its codes are GRID-1, PV, NEW',
  ]);
  expect(problemsOf({ report: 'meter_data', workgroup: 'empty' })).toEqual([
    'exports.0.report: needs meters, and workgroup empty has none',
  ]);
  expect(problemsOf({ report: 'variance' })).toEqual(['exports.0.site: must name the site of variance']);
  expect(problemsOf({ report: 'variance', site: 'halle ost' })).toEqual([
    'exports.0.site: workgroup home has no site "halle ost"; its sites are Halle Ost, Dach, bare',
  ]);
  expect(problemsOf({ report: 'variance', site: 'bare' })).toEqual([]);
  expect(problemsOf({ report: 'reconciliation', site: 'bare' })).toEqual([
    'exports.0.site: "bare" has no devices, so there is nothing to compare',
  ]);
  expect(problemsOf({ report: 'daily_energy', site: 'Dach', scenario: 'P50', meters: ['PV'] })).toEqual([
    'exports.0.meters: has no effect for daily_energy; use it with meter_data, budget_data',
    'exports.0.site: has no effect for daily_energy; use it with reconciliation, variance, balance',
    'exports.0.scenario: has no effect for daily_energy; use it with budget_data, variance',
  ]);
  expect(problemsOf({ report: 'budget_data', groupBy: 'source' })).toEqual([
    'exports.0.groupBy: has no effect for budget_data; use it with daily_energy, interval_energy',
  ]);
  expect(problemsOf({ report: 'daily_energy', workgroup: 'none' })).toEqual([
    'exports.0.workgroup: "none" is not configured; configured are home, empty',
  ]);
  expect(problemsOf({ report: 'nothing', meters: 5 })[0]).toContain('exports.0.report: must be one of');
  const s3 = { bucket: 'energy', accessKeyId: 'a', secretAccessKey: 'b' };
  const destinationProblems = (destination: object) =>
    problemsOf({ report: 'daily_energy', destination }).map((text) =>
      text.replace('exports.0.destination.', ''),
    );
  for (const prefix of ['/a/', 'a//b', '../other/', 'a/./b', 'a/..'])
    expect(destinationProblems({ s3: { ...s3, endpoint: 'https://s3.example.com', prefix } })).toEqual([
      's3.prefix: must not begin with a slash, and must not have empty parts or parts of dots',
    ]);
  for (const prefix of ['a/', 'a.b/..c/', ''])
    expect(destinationProblems({ s3: { ...s3, endpoint: 'https://s3.example.com', prefix } })).toEqual([]);
  expect(destinationProblems({ s3: { ...s3, endpoint: 'https://me:secret@s3.example.com' } })).toEqual([
    's3.endpoint: must not contain a user or a password; use their own settings',
  ]);
  expect(destinationProblems({ webhook: { url: 'https://me:secret@example.com/x' } })[0]).not.toContain(
    'secret',
  );
});
