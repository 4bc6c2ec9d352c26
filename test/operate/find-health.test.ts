import { expect, test } from 'vitest';
import type { ExportRun } from '../../src/exports/export-ledger.ts';
import { stateOfRuns } from '../../src/exports/list-exports.ts';
import { findHealth } from '../../src/operate/find-health.ts';
import type { WorkgroupState } from '../../src/operate/workgroup-state.ts';
import { emptyStatus } from '../../src/pipeline/workgroup-status.ts';

const AT_MS = Date.UTC(2026, 10, 20);
const well: WorkgroupState = {
  ...emptyStatus('home', AT_MS),
  state: 'running',
  imports: [],
  newestImports: [],
  exports: [],
  troubles: [],
};
const trouble = {
  stage: 'rollup',
  state: 'failing',
  sinceMs: AT_MS,
  message: 'a number is too large',
} as const;
const lastError = { atMs: AT_MS, message: 'no answer' };

test.each<[what: string, state: Partial<WorkgroupState>, health: string, reason: string, about: string[]]>([
  ['nothing', {}, 'good', 'all is well', []],
  ['a trouble', { troubles: [trouble] }, 'bad', 'a number is too large', ['stage']],
  [
    'a stopped worker',
    { state: 'stopped', poll: { lastError } },
    'bad',
    'no worker runs for this workgroup, so new messages are not read; start one',
    ['worker'],
  ],
  [
    'no worker',
    { state: 'never run' },
    'bad',
    'no worker has run for this workgroup yet; start one with "wattline up"',
    ['worker'],
  ],
  ['a failing stage', { poll: { lastError } }, 'attention', 'poll: no answer', ['stage']],
  ['a delay', { lagSeconds: 600 }, 'attention', 'the work is 10 minutes behind the stream', ['lag']],
  ['five minutes', { lagSeconds: 300 }, 'attention', 'the work is 5 minutes behind the stream', ['lag']],
  ['a short delay', { lagSeconds: 299 }, 'good', 'all is well', []],
  ['a gap', { gaps: 2 }, 'attention', '2 gaps of the stream could not be read', ['gap']],
  ['old rejections', { quarantined: 1 }, 'good', 'all is well', ['quarantine']],
  [
    'new rejections',
    { quarantined: 9, lastHour: { messages: 0, quarantined: 1 } },
    'attention',
    '1 message of the last hour could not be read',
    ['quarantine'],
  ],
  [
    'a problem',
    { problems: [{ path: 'workgroups.0.energyStreams', message: 'is empty' }] },
    'attention',
    'is empty',
    ['problem'],
  ],
  [
    'an offline device',
    { devices: { online: 1, offline: 1, asleep: 3, unknown: 0 } },
    'attention',
    '1 device is offline',
    ['device'],
  ],
  ['an hour without bad messages', { lastHour: { messages: 5, quarantined: 0 } }, 'good', 'all is well', []],
  ['a night', { devices: { online: 1, offline: 0, asleep: 3, unknown: 0 } }, 'good', 'all is well', []],
  [
    'a running import',
    {
      imports: [{ path: '/data/a.csv', state: 'landing', rowsRead: 1, updatedAtMs: AT_MS, isUnderWay: true }],
    },
    'good',
    'all is well',
    ['import'],
  ],
  [
    'a stopped import',
    {
      imports: [
        { path: '/data/a.csv', state: 'landing', rowsRead: 1, updatedAtMs: AT_MS, isUnderWay: false },
      ],
    },
    'attention',
    'the import of a.csv has stopped; import it again to continue',
    ['import'],
  ],
])('%s', (_, facts, health, reason, about) => {
  const found = findHealth({ ...well, ...facts });
  expect(found).toMatchObject({ health, reason });
  expect(found.findings.map((one) => one.about)).toEqual(about);
});

test('a broker that is not connected is bad, and is about inputs', () => {
  const away = { ...trouble, stage: 'input' as const, message: 'input "house" is not connected' };
  const { health, reason, findings } = findHealth({ ...well, troubles: [away] });
  expect([health, reason, findings.map(({ about }) => about)]).toEqual(['bad', away.message, ['input']]);
});

test('the worst finding comes first, and a finding that lasts is not reported twice', () => {
  const { findings } = findHealth({
    ...well,
    quarantined: 3,
    gaps: 1,
    troubles: [trouble],
    rollup: { lastError },
  });
  expect(findings.map(({ severity, about }) => [severity, about])).toEqual([
    ['bad', 'stage'],
    ['attention', 'gap'],
    ['note', 'quarantine'],
  ]);
});

test('a stage that fails is reported beside the lasting trouble of another one', () => {
  const { findings } = findHealth({ ...well, troubles: [trouble], publish: { ...well.publish, lastError } });
  expect(findings.map(({ message }) => message)).toEqual([trouble.message, `publish: ${lastError.message}`]);
});

test('at most 100 findings are reported', () => {
  const problems = Array.from({ length: 101 }, (_, index) => ({
    path: `devices.${index}`,
    message: 'is empty',
  }));
  expect(findHealth({ ...well, problems }).findings.map(({ path }) => path)).toEqual(
    problems.slice(0, 100).map(({ path }) => path),
  );
});

test('an export tells its newest failed run only', () => {
  const failed = (period: string) =>
    ({ period, lastError: { message: `${period} is refused` } }) as ExportRun;
  const state = { ...stateOfRuns('daily', []), troubled: [failed('2026-11-18'), failed('2026-11-19')] };
  expect(findHealth({ ...well, exports: [state] }).findings.map(({ message }) => message)).toEqual([
    'export daily, 2026-11-19: 2026-11-19 is refused',
  ]);
});
