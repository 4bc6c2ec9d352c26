import { expect, test } from 'vitest';
import {
  describeExports,
  describeRun,
  describeRuns,
  exportNotes,
} from '../../src/cli/exports/exports-view.ts';
import type { ExportRun } from '../../src/exports/export-ledger.ts';
import { stateOfRuns } from '../../src/exports/list-exports.ts';
import { linesOf } from './terminal-of.ts';

const run = (period: string, members: Partial<ExportRun> = {}): ExportRun => ({
  format: 1,
  exportId: 'billing',
  workgroupId: 'home',
  report: 'daily-energy',
  period,
  startDay: `${period}-01`,
  endDay: `${period}-28`,
  revision: 1,
  reason: 'schedule',
  state: 'delivered',
  plannedAt: '2026-05-01T00:00:00.000Z',
  attempts: 1,
  ...members,
});
const lastError = { at: '2026-05-01T00:00:00.000Z', code: 'X', message: 'status 500' };
const failed = { state: 'failed' as const, lastError };
const outdated = (...days: Array<[day: string, beforeWh: number | null, afterWh: number | null]>) => ({
  since: '2026-05-02T00:00:00.000Z',
  generation: 4,
  days: days.map(([day, beforeWh, afterWh]) => ({ day, beforeWh, afterWh })),
});
const notesOf = (...runs: ExportRun[]) => exportNotes(stateOfRuns('billing', runs));

test('the three newest failures of an export are printed, and the others are counted', () => {
  const notes = notesOf(
    ...['2026-01', '2026-02', '2026-03', '2026-04', '2026-05'].map((one) => run(one, failed)),
  );
  expect(notes.map((note) => note.slice(0, 40))).toEqual([
    'billing, 2026-03: status 500; it is not ',
    'billing, 2026-04: status 500; it is not ',
    'billing, 2026-05: status 500; it is not ',
    'billing: 2 more have failed; "wattline e',
  ]);
});

test('a file that waits is a failure only if its last attempt has an error', () => {
  expect(notesOf(run('2026-01', { state: 'planned' }), run('2026-02', { state: 'waiting' }))).toEqual([]);
  const waiting = run('2026-02', { state: 'waiting', lastError });
  expect(notesOf(waiting, run('2026-03', { lastError }))).toEqual([
    expect.stringContaining('billing, 2026-02: status 500'),
  ]);
});

test('a file that is not made yet is pending, as one that waits for its delivery', () => {
  const runs = [run('2026-01', { state: 'planned' }), run('2026-02', { state: 'waiting' }), run('2026-03')];
  expect(stateOfRuns('billing', runs)).toMatchObject({ pending: 2, failed: 0 });
});

test('files with data that has changed since their delivery are printed with the sum of the change and its sign', () => {
  const changed = outdated(['2026-01-02', 1_000, 3_500], ['2026-01-03', 200, null]);
  expect(notesOf(run('2026-01', { outdated: changed }), run('2026-02'))).toEqual([
    expect.stringContaining('billing: the data of a file have changed after delivery by +2,300 Wh; '),
  ]);
  const fallen = run('2026-02', { outdated: outdated(['2026-02-02', 5_000, 1_000]) });
  expect(notesOf(run('2026-01', { outdated: changed }), fallen)).toEqual([
    expect.stringContaining('billing: the data of 2 files have changed after delivery by -1,700 Wh; '),
  ]);
});

test('a run that is not delivered has its error as the remark, and an outdated one its change', () => {
  const runs = [
    run('2026-01', { outdated: outdated(['2026-01-02', 1_000, 3_500]) }),
    run('2026-02', { outdated: outdated(['2026-02-02', 5_000, 1_000], ['2026-02-03', null, 10]) }),
    run('2026-03', { ...failed, outdated: outdated(['2026-03-02', 0, 10]), revision: 2 }),
    run('2026-04'),
    run('2026-05', { state: 'waiting', lastError }),
    // It was delivered at a second attempt.
    run('2026-06', { lastError }),
  ];
  expect(
    linesOf(describeRuns(runs))
      .map((line) => line.split(/ {2,}/))
      .slice(1),
  ).toEqual([
    ['2026-01', 'delivered', '-', '-', '-', '-', '1', '-', '-', 'outdated: 2026-01-02, +2,500 Wh'],
    ['2026-02', 'delivered', '-', '-', '-', '-', '1', '-', '-', 'outdated: 2 days, -3,990 Wh'],
    ['2026-03_r2', 'failed', '-', '-', '-', '-', '1', '-', '-', 'status 500'],
    ['2026-04', 'delivered', '-', '-', '-', '-', '1', '-', '-'],
    ['2026-05', 'waiting', '-', '-', '-', '-', '1', '-', '-', 'status 500'],
    ['2026-06', 'delivered', '-', '-', '-', '-', '1', '-', '-'],
  ]);
  expect(describeRuns([])).toBe('');
});

test('a run is printed with its file, its delivery, and the days that have changed since', () => {
  const file = {
    name: 'a.csv',
    rows: 1_240,
    bytes: 30_000,
    sha256: 'ab',
    generation: 3,
    zone: 'Etc/UTC',
    energyWh: null,
    rowsHash: 'cd',
    days: [],
  };
  const delivered = { at: '2026-05-01T06:00:00.000Z', to: '/out/a.csv' };
  const text = describeRun(
    run('2026-01', { file, delivered, outdated: outdated(['2026-01-02', null, 3_500]), reason: 'by hand' }),
  );
  expect(linesOf(text)).toEqual([
    'export      billing 2026-01, by hand',
    'days        2026-01-01 to 2026-01-28',
    'state       delivered',
    'file        a.csv',
    'holds       1,240 rows, - Wh, 30,000 bytes',
    'generation  3',
    'sha256      ab',
    'delivered   2026-05-01T06:00:00.000Z to /out/a.csv',
    'changed since (seen 2026-05-02T00:00:00.000Z)',
    '  Day         Exported Wh  Now Wh',
    '  2026-01-02            -   3,500',
  ]);
  expect(describeRun(run('2026-01', failed))).toMatch(
    /\nfailed {2}2026-05-01T00:00:00\.000Z: status 500; it is not retried automatically/,
  );
});

test('an export without a schedule is run by hand, and the time of the next run is local', () => {
  const listed = {
    ...stateOfRuns('billing', [run('2026-01', { revision: 2 })]),
    workgroup: 'home',
    report: 'daily-energy',
    range: 'last-month',
    format: 'csv',
    destination: '/out',
    nextAt: null,
    nextLocal: null,
  };
  const next = { nextAt: '2026-06-01T04:00:00.000Z', nextLocal: '2026-06-01 06:00:00+02:00' };
  const lines = linesOf(describeExports([listed, { ...listed, ...next }], Number.POSITIVE_INFINITY));
  expect(lines[1]).toMatch(/ csv +by hand +2026-01_r2 +delivered +0 +0 +0 +\/out$/);
  expect(lines[2]).toMatch(/ csv +2026-06-01 06:00 +2026-01_r2 /);
});
