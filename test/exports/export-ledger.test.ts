import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import {
  byPeriod,
  type ExportRun,
  isPending,
  retryAdvice,
  runName,
} from '../../src/exports/export-ledger.ts';
import { openFolderLedger } from '../../src/exports/folder-ledger.ts';
import { nextRunMs, stateOfRuns } from '../../src/exports/list-exports.ts';
import { isToBeTried } from '../../src/exports/scheduled-export.ts';
import { tempDir } from '../support/temp-dir.ts';

const delivered = (period: string, more: Partial<ExportRun> = {}): ExportRun => ({
  format: 1,
  exportId: 'daily',
  workgroupId: 'home',
  report: 'daily_energy',
  period,
  startDay: period,
  endDay: period,
  revision: 1,
  reason: 'schedule',
  state: 'delivered',
  plannedAt: '2026-11-20T06:00:00.000Z',
  attempts: 1,
  ...more,
});
const lastError = { at: '2026-11-20T06:00:00.000Z', code: 'X', message: 'no answer' };

test('a run is named by its period, and by its revision from the second on', () => {
  expect(runName({ period: '2026-11', revision: 1 })).toBe('2026-11');
  expect(runName({ period: '2026-11', revision: 2 })).toBe('2026-11_r2');
});

test('runs are sorted by their last day, then by their first day, then by revision', () => {
  const runs = [
    delivered('b', { startDay: '2026-11-02', endDay: '2026-11-30' }),
    delivered('a2', { startDay: '2026-11-01', endDay: '2026-11-30', revision: 2 }),
    delivered('a1', { startDay: '2026-11-01', endDay: '2026-11-30' }),
    delivered('c', { startDay: '2026-11-29', endDay: '2026-11-29' }),
  ];
  expect(runs.toSorted(byPeriod).map(({ period }) => period)).toEqual(['c', 'a1', 'a2', 'b']);
});

test.each<[state: ExportRun['state'], nextAttemptAt: string | undefined, advice: string | undefined]>([
  ['failed', undefined, 'it is not retried automatically; run it by hand after you have solved the problem'],
  [
    'waiting',
    '2026-11-20T06:01:00.000Z',
    'the file is kept, and a worker sends it again after 2026-11-20T06:01:00Z',
  ],
  ['planned', '2026-11-20T06:01:00.000Z', 'a worker tries again after 2026-11-20T06:01:00Z'],
  ['planned', undefined, undefined],
  ['delivered', '2026-11-20T06:01:00.000Z', undefined],
])('the advice on a run that is %s, with the next attempt at %s: %s', (state, nextAttemptAt, advice) => {
  expect(retryAdvice(delivered('2026-11-19', { state, ...(nextAttemptAt && { nextAttemptAt }) }))).toBe(
    advice,
  );
  expect(isPending({ state })).toBe(state !== 'delivered');
});

test.each<[state: ExportRun['state'], nextAttemptAt: string | undefined, isDue: boolean]>([
  ['planned', undefined, true],
  ['waiting', '2026-11-20T06:00:01.000Z', true],
  ['waiting', '2026-11-20T06:00:01.001Z', false],
  ['failed', undefined, false],
])(
  'at 06:00:01 a run that is %s, with the next attempt at %s, is tried: %s',
  (state, nextAttemptAt, isDue) => {
    const plannedAt = '2026-11-20T06:00:00.000Z';
    const run = { state, plannedAt, ...(nextAttemptAt && { nextAttemptAt }) };
    expect(isToBeTried(run, Date.parse('2026-11-20T06:00:01.000Z'))).toBe(isDue);
  },
);

test('the state of an export counts its runs, and the newest revision of each period decides what is outdated', () => {
  const outdated = (...days: Array<[beforeWh: number | null, afterWh: number | null]>) => ({
    since: '2026-11-21T00:00:00.000Z',
    generation: 4,
    days: days.map(([beforeWh, afterWh]) => ({ day: '2026-11-01', beforeWh, afterWh })),
  });
  const at = (time: string) => ({ at: time, to: '/out' });
  const waiting = delivered('2026-11-04', { state: 'waiting', lastError });
  const failed = delivered('2026-11-05', { state: 'failed', lastError });
  const planned = delivered('2026-11-06', { state: 'planned' });
  const runs = [
    // Its correction was delivered.
    delivered('2026-11-01', { outdated: outdated([0, 1_000_000]), delivered: at('2026-11-02') }),
    delivered('2026-11-01', { revision: 2, delivered: at('2026-11-09') }),
    delivered('2026-11-02', { outdated: outdated([100, 130], [50, null], [null, 7]), lastError }),
    delivered('2026-11-03', { outdated: outdated([10, 5]), delivered: at('2026-11-04') }),
    waiting,
    failed,
    planned,
  ];
  expect(stateOfRuns('daily', runs)).toEqual({
    id: 'daily',
    lastRun: planned,
    lastDeliveredAt: '2026-11-09',
    pending: 2,
    failed: 1,
    troubled: [waiting, failed],
    outdated: 2,
    outdatedWh: 30 - 50 + 7 - 5,
  });
  expect(stateOfRuns('daily', [])).toMatchObject({ lastRun: null, lastDeliveredAt: null, outdatedWh: 0 });
});

test('the next run is at the time of the schedule in its zone; without a schedule there is none', () => {
  const nowMs = Date.parse('2026-11-20T12:00:00Z');
  const next = (schedule: string | undefined, zone: string) => nextRunMs({ schedule }, zone, nowMs);
  expect(next('0 6 * * *', 'Etc/UTC')).toBe(Date.parse('2026-11-21T06:00:00Z'));
  expect(next('0 6 * * *', 'Asia/Tokyo')).toBe(Date.parse('2026-11-20T21:00:00Z'));
  expect(next(undefined, 'Etc/UTC')).toBeUndefined();
});

test('the runs of a period in a folder are its revisions, and not those of its days', async () => {
  const ledger = openFolderLedger(tempDir(), 'daily');
  for (const run of [
    delivered('2026-11', { endDay: '2026-11-30' }),
    delivered('2026-11', { endDay: '2026-11-30', revision: 2 }),
    delivered('2026-11-19', { endDay: '2026-11-19' }),
  ])
    await ledger.save(run);
  expect((await ledger.runsOf('2026-11')).map(runName)).toEqual(['2026-11', '2026-11_r2']);
  expect((await ledger.runsOf('2026-11-19')).map(runName)).toEqual(['2026-11-19']);
  expect(await ledger.runsOf('2026')).toEqual([]);
});

test('a delivered day may get its first energy later, or lose it', async () => {
  const dataDir = tempDir();
  const days = [
    { day: '2026-11-01', beforeWh: null, afterWh: 5 },
    { day: '2026-11-02', beforeWh: 5, afterWh: null },
  ];
  const outdated = { since: '2026-11-21T00:00:00.000Z', generation: 4, days };
  await openFolderLedger(dataDir, 'daily').save(delivered('2026-11', { endDay: '2026-11-30', outdated }));
  const [run] = await openFolderLedger(dataDir, 'daily').runs();
  expect(run!.outdated).toEqual(outdated);
});

test('a run that is delivered stays so when it is saved again, as when a correction makes it outdated', async () => {
  const ledger = openFolderLedger(tempDir(), 'daily');
  await ledger.save(delivered('2026-11-19', { state: 'waiting' }));
  expect((await ledger.pending()).map(runName)).toEqual(['2026-11-19']);
  await ledger.save(delivered('2026-11-19'));
  await ledger.save(delivered('2026-11-19', { attempts: 2 }));
  expect(await ledger.pending()).toEqual([]);
  expect((await ledger.runs()).map(({ attempts }) => attempts)).toEqual([2]);
});

test('a run that is delivered and still pending, as after a crash, is delivered', async () => {
  const dataDir = tempDir();
  const ledger = openFolderLedger(dataDir, 'daily');
  await ledger.save(delivered('2026-11-19'));
  const pending = delivered('2026-11-19', { state: 'waiting' });
  writeFileSync(join(dataDir, 'exports', 'daily', 'pending', '2026-11-19.json'), JSON.stringify(pending));
  expect((await ledger.runs()).map(({ state }) => state)).toEqual(['delivered']);
});

test('a folder has the file of a run if it is whole, unless the run is planned again', async () => {
  const ledger = openFolderLedger(tempDir(), 'daily');
  const file = {
    name: 'a.csv',
    bytes: 4,
    rows: 1,
    energyWh: 1,
    generation: 1,
    sha256: '',
    days: [],
    zone: 'Etc/UTC',
    rowsHash: '',
  };
  const hasFile = (more: Partial<ExportRun>) =>
    ledger.provideFile(delivered('2026-11-19', { file, ...more }));
  expect(await hasFile({ state: 'waiting' })).toBe(false);
  mkdirSync(ledger.outbox, { recursive: true });
  writeFileSync(join(ledger.outbox, 'a.csv'), 'day');
  expect(await hasFile({ state: 'waiting' })).toBe(false);
  writeFileSync(join(ledger.outbox, 'a.csv'), 'day\n');
  expect(await hasFile({ state: 'waiting' })).toBe(true);
  expect(await hasFile({ state: 'planned' })).toBe(false);
  expect(await hasFile({ state: 'waiting', file: undefined })).toBe(false);
});
