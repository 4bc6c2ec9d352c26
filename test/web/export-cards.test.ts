import { expect, test } from 'vitest';
import type { ExportList } from '../../src/web/facts/answers.ts';
import { ExportCards } from '../../src/web/pages/export-cards.tsx';
import { renderPart } from './support/render-part.ts';

type Export = ExportList['exports'][number];
type Run = Export['runs'][number];

const file = {
  name: 'billing_2026-04.csv',
  rows: 1_240,
  bytes: 9_120,
  energyWh: 3_120_400,
  generation: 812,
  sha256: '9f86',
};
const run: Run = {
  name: '2026-04',
  period: '2026-04',
  startDay: '2026-04-01',
  endDay: '2026-04-30',
  revision: 1,
  reason: 'schedule',
  state: 'delivered',
  plannedAt: '2026-05-03T04:00:00.000Z',
  file,
  attempts: 1,
  nextAttemptAt: null,
  lastError: null,
  deliveredAt: '2026-05-03T04:00:02.000Z',
  outdated: null,
};
const billing: Export = {
  id: 'billing',
  report: 'daily-energy',
  range: 'last_month',
  format: 'csv',
  destination: 'folder',
  schedule: '0 6 3 * *',
  timezone: 'Europe/Paris',
  nextAt: '2026-06-03T04:00:00.000Z',
  pending: 0,
  failed: 0,
  outdated: 0,
  outdatedWh: 0,
  runs: [run],
  runCount: 1,
};
const at = '2026-05-03T05:00:00.000Z';

const shown = (exports: Export[], mayOperate = true) =>
  renderPart(
    ExportCards,
    {},
    { exports: { exports } },
    { workgroup: { id: 'home', maySeeAll: true, mayCorrect: true, mayOperate, mayAudit: true } },
  ).lines;
/** The lines of the runs of the only export. */
const runsOf = (runs: Run[]) => {
  const lines = shown([{ ...billing, runs }]);
  return lines.slice(
    lines.indexOf('Runs of billing, newest first') + 1,
    lines.indexOf('[Run now: billing]') - 1,
  );
};

test('without exports it says how to have them', () => {
  expect(shown([])).toEqual([
    'Scheduled exports',
    'No exports',
    'List exports in the configuration to have reports written to files, to S3 or to a webhook.',
  ]);
});

test('an export has its schedule, its state and its runs, and an operator can run it', () => {
  const expected = [
    'Scheduled exports',
    '1 export. Everything that was due is delivered and still right.',
    'billing',
    '[good] delivered',
    'Daily energy, last month, as CSV to a folder. Next: Jun 3, 2026, 06:00 (0 6 3 * *, Europe/Paris).',
    'Runs of billing, newest first',
    'Period | State | Delivered | Rows | Energy | File',
    'April 2026 | [good] delivered | May 3, 2026, 06:00 | 1,240 | 3.12 MWh {3120400} | billing_2026-04.csv',
    '<Runs of billing, newest first>',
    '[Run now: billing]',
    '<Export billing>',
  ];
  expect(shown([billing])).toEqual(expected);
  expect(shown([billing], false)).toEqual(expected.toSpliced(-2, 1));
});

test.each([
  ['s3', 'S3'],
  ['webhook', 'a webhook'],
  ['email', 'email'],
  ['homeAssistant', 'Home Assistant'],
] as const)('an export to %s without a schedule is run by hand', (destination, words) => {
  const byHand = { ...billing, destination, schedule: null, nextAt: null, format: 'parquet', runs: [] };
  expect(shown([byHand]).slice(3, 5)).toEqual([
    '[calm] not run yet',
    `Daily energy, last month, as Parquet to ${words}. It is run by hand.`,
  ]);
});

test.each<[Partial<Export>, string]>([
  [{ failed: 1, outdated: 1, pending: 1 }, '[bad] 1 file failed'],
  [{ failed: 2 }, '[bad] 2 files failed'],
  [{ outdated: 1, pending: 1 }, '[doubtful] 1 file outdated'],
  [{ pending: 2 }, '[noted] 2 files waiting'],
])('the worst of an export is its state: %o', (changed, words) => {
  expect(shown([{ ...billing, ...changed }])[3]).toBe(words);
});

test('the sentence has the files of all exports that need something', () => {
  const one = { ...billing, failed: 1, pending: 1, outdated: 1 };
  expect(shown([one])[1]).toBe(
    '1 export. 1 file could not be delivered. 1 file waits for delivery. 1 delivered file is outdated.',
  );
  expect(shown([one, { ...one, id: 'mail', failed: 2 }])[1]).toBe(
    '2 exports. 3 files could not be delivered. 2 files wait for delivery. 2 delivered files are outdated.',
  );
});

test('a run without a file has dashes, and a run again has its revision', () => {
  const planned: Run = { ...run, state: 'planned', file: null, deliveredAt: null, endDay: '2026-04-01' };
  const waiting: Run = { ...run, state: 'waiting', deliveredAt: null, revision: 2 };
  const failed: Run = { ...run, state: 'failed', file: { ...file, rows: 0, energyWh: null } };
  expect(runsOf([planned, waiting, failed])).toEqual([
    'Period | State | Delivered | Rows | Energy | File',
    'Wed, Apr 1, 2026 | [noted] planned | – | – | – <not known> | –',
    'April 2026, revision 2 | [noted] waiting | – | 1,240 | 3.12 MWh {3120400} | billing_2026-04.csv',
    'April 2026 | [bad] failed | May 3, 2026, 06:00 | 0 | – <not known> | billing_2026-04.csv',
  ]);
});

test('a run that is not delivered has its error, and when it is tried again', () => {
  const lastError = { at, message: 'the disk is full' };
  const waiting: Run = { ...run, state: 'waiting', attempts: 3, lastError, nextAttemptAt: at };
  const failed: Run = { ...run, state: 'failed', lastError };
  const delivered: Run = { ...run, lastError };
  expect(runsOf([waiting, failed, delivered]).map((line) => line.split(' | ').slice(6).join())).toEqual([
    'Note',
    'the disk is full (3 attempts, next May 3, 2026, 07:00)',
    'the disk is full (1 attempt)',
    '',
  ]);
  expect(runsOf([delivered])[0]).not.toMatch('Note');
});

test('a run that is outdated has the days that have changed', () => {
  const days = [
    { day: '2026-04-02', beforeWh: 12_000, afterWh: 12_345 },
    { day: '2026-04-03', beforeWh: null, afterWh: 0 },
    { day: '2026-04-04', beforeWh: 5, afterWh: null },
  ];
  const outdated: Run = { ...run, outdated: { since: at, dayCount: 3, days } };
  const lines = [
    'April 2026 | [doubtful] outdated | May 3, 2026, 06:00 | 1,240 | 3.12 MWh {3120400} | billing_2026-04.csv |',
    '3 days changed since delivery',
    'Apr 2: 12,000 Wh → 12,345 Wh',
    'Apr 3: nothing → 0 Wh',
    'Apr 4: 5 Wh → nothing',
  ];
  expect(runsOf([outdated]).slice(1)).toEqual(lines);
  const more = { ...outdated, outdated: { since: at, dayCount: 5, days } };
  expect(runsOf([more]).slice(1)).toEqual([...lines.with(1, '5 days changed since delivery'), 'And 2 more.']);
  const one = { ...outdated, outdated: { since: at, dayCount: 1, days: days.slice(0, 1) } };
  expect(runsOf([one])[2]).toBe('1 day changed since delivery');
});

test('more runs than the page has are counted', () => {
  expect(shown([{ ...billing, runCount: 25 }]).at(-2)).toBe('The newest 1 of 25 runs are shown.');
});
