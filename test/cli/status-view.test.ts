import { expect, test } from 'vitest';
import { describeStatuses, type ListedStatus } from '../../src/cli/status/status-view.ts';
import { emptyStatus } from '../../src/pipeline/workgroup-status.ts';
import { linesOf } from './terminal-of.ts';

const nowMs = Date.UTC(2026, 4, 17, 12);
const idle: ListedStatus = {
  ...emptyStatus('home', nowMs),
  imports: [],
  newestImports: [],
  state: 'running',
  troubles: [],
  exports: [],
};
const linesAbout = (...statuses: ListedStatus[]) =>
  linesOf(describeStatuses(statuses, nowMs, Number.POSITIVE_INFINITY));
const cellsOf = (line: string | undefined) => line!.split(/ {2,}/);

test('each fact of a workgroup is in its column, and what is unknown is "-"', () => {
  const busy: ListedStatus = {
    ...idle,
    lagSeconds: 2_000,
    poll: {
      nextOffset: '123',
      lagMessages: 3_000,
      lagSeconds: 9,
      transport: 'socket',
      lastSuccessAtMs: nowMs - 4_000,
    },
    rollup: { lastSuccessAtMs: nowMs - 5_000 },
    publish: { lastSuccessAtMs: nowMs, generation: 6_000 },
    devices: { online: 7, offline: 8, asleep: 0, unknown: 11 },
    gaps: 9,
    quarantined: 10,
  };
  const [titles, line, empty] = linesAbout(busy, idle);
  expect(titles!.trim().split(/ {2,}/)).toEqual([
    ...['Workgroup', 'State', 'Checkpoint', 'Lag', 'Lag s', 'By', 'Polled', 'Rolled up'],
    ...['Generation', 'Online', 'Offline', 'Gaps', 'Quarantine'],
  ]);
  expect(cellsOf(line)).toEqual([
    ...['home', 'running', '123', '3,000', '2,000', 'socket', '4 s ago', '5 s ago'],
    ...['6,000', '7', '8', '9', '10'],
  ]);
  expect(cellsOf(empty)).toEqual(['home', 'running', ...Array(9).fill('-'), '0', '0']);
});

test('a machine and its bucket have columns if there is a bucket, and sleeping devices if there are some', () => {
  const bucket = {
    lastCommitAtMs: nowMs - 7_000,
    sequence: 1,
    failingSinceMs: undefined,
    lastError: undefined,
    isLakeComplete: true,
  };
  const devices = { online: 1, offline: 2, asleep: 3, unknown: 0 };
  const [titles, line, other] = linesAbout({ ...idle, bucket, machine: 'plant-1', devices }, idle);
  expect(titles).toMatch(/^Workgroup +State +Machine +In bucket +Checkpoint .* Offline +Asleep +Gaps/);
  expect(cellsOf(line).slice(2, 4)).toEqual(['plant-1', '7 s ago']);
  expect(cellsOf(line).slice(-5)).toEqual(['1', '2', '3', '0', '0']);
  expect(cellsOf(other).slice(2, 4)).toEqual(['-', '-']);
  const copying = (missingFiles: number | undefined, error?: string) =>
    linesAbout({ ...idle, bucket: { ...bucket, fill: { missingFiles, error } } }).slice(2);
  const where = 'of its lake are still only in the bucket, and reports read them there';
  expect(copying(1_234)).toEqual(['', `copying: home, 1,234 files ${where}`]);
  expect(copying(1)).toEqual([
    '',
    'copying: home, 1 file of its lake is still only in the bucket, and reports read it there',
  ]);
  expect(copying(undefined, 'no network')).toEqual([
    '',
    `copying: home, files ${where}; the last attempt failed: no network`,
  ]);
});

test('below the table are what fails, the problems, the imports, and the last error of each stage', () => {
  const lastError = { atMs: nowMs, message: 'the disk is full' };
  const text = linesAbout({
    ...idle,
    troubles: [
      { workgroupId: 'home', stage: 'poll', state: 'failing', sinceMs: nowMs, message: 'no answer' },
    ],
    problems: [{ path: 'workgroups.0', message: 'correct it' }],
    imports: [{ path: '/a.csv', state: 'landing', rowsRead: 1, updatedAtMs: nowMs, isUnderWay: true }],
    rollup: { lastError },
    maintain: { lastError },
  });
  expect(text.slice(2)).toEqual([
    '',
    expect.stringMatching(/^failing: workgroup home, .*: no answer$/),
    '',
    'problem: workgroups.0: correct it',
    '',
    expect.stringMatching(/^import: home, \/a\.csv: in progress/),
    '',
    'Last errors',
    'home, rollup at 2026-05-17T12:00:00.000Z: the disk is full',
    'home, maintain at 2026-05-17T12:00:00.000Z: the disk is full',
  ]);
});
