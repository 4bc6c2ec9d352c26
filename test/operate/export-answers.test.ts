import { expect, test } from 'vitest';
import { configSchema } from '../../src/config/config.ts';
import { StreamError } from '../../src/contract/stream-errors.ts';
import type { ExportRun } from '../../src/exports/export-ledger.ts';
import { InputError, TerminalError, TransientError } from '../../src/lib/errors.ts';
import { exportAnswer, exportRows, runAnswer, runRefusal } from '../../src/operate/export-answers.ts';

const NOW_MS = Date.parse('2026-11-20T12:00:00Z');
const AT = '2026-11-20T06:00:00.000Z';
const planned: ExportRun = {
  ...{ format: 1, exportId: 'daily', workgroupId: 'acme', report: 'daily_energy', period: '2026-11-19' },
  ...{ startDay: '2026-11-19', endDay: '2026-11-19', revision: 1, reason: 'schedule', state: 'planned' },
  ...{ plannedAt: AT, attempts: 0 },
};
const delivered: ExportRun = {
  ...planned,
  revision: 2,
  reason: 'correction',
  state: 'delivered',
  attempts: 3,
  file: {
    ...{ name: 'daily.csv', rows: 5, bytes: 900, sha256: 'ab', generation: 4, zone: 'Etc/UTC', energyWh: 70 },
    ...{ rowsHash: 'cd', days: [] },
  },
  delivered: { at: AT, to: '/exports/daily.csv' },
  outdated: {
    since: AT,
    generation: 5,
    days: Array.from({ length: 51 }, (_, index) => ({ day: `day ${index}`, beforeWh: 1, afterWh: 3 })),
  },
};
const failed: ExportRun = {
  ...planned,
  state: 'failed',
  nextAttemptAt: AT,
  lastError: { at: AT, code: 'X', message: 'no answer' },
};

test('a run is answered without its secrets and with 50 changed days at most', () => {
  expect(runAnswer(planned)).toEqual({
    ...{
      name: '2026-11-19',
      period: '2026-11-19',
      startDay: '2026-11-19',
      endDay: '2026-11-19',
      revision: 1,
    },
    ...{ reason: 'schedule', state: 'planned', plannedAt: AT, file: null, attempts: 0, nextAttemptAt: null },
    ...{ lastError: null, deliveredAt: null, outdated: null },
  });
  expect(runAnswer(delivered)).toMatchObject({
    name: '2026-11-19_r2',
    file: { name: 'daily.csv', rows: 5, bytes: 900, energyWh: 70, generation: 4, sha256: 'ab' },
    deliveredAt: AT,
    outdated: { since: AT, dayCount: 51, days: delivered.outdated!.days.slice(0, 50) },
  });
  // The place of the file is not told.
  expect(JSON.stringify(runAnswer(delivered))).not.toContain('/exports');
  expect(runAnswer(failed)).toMatchObject({ nextAttemptAt: AT, lastError: { at: AT, message: 'no answer' } });
});

function answerOf(more: object, runs: ExportRun[]) {
  const daily = { id: 'daily', workgroup: 'acme', report: 'daily_energy', range: 'yesterday', format: 'csv' };
  const { workgroups, exports } = configSchema.parse({
    workgroups: [{ id: 'acme', timezone: 'Europe/Paris' }],
    exports: [{ ...daily, destination: { folder: '/exports' }, ...more }],
  });
  return exportAnswer(exports[0]!, runs, workgroups[0]!, NOW_MS);
}

test('an export is answered with its state, its next time in its zone, and its newest 20 runs', () => {
  const runs = Array.from({ length: 19 }, () => planned);
  const answer = answerOf({ schedule: '0 14 * * *' }, [failed, ...runs, delivered]);
  expect(answer).toMatchObject({
    ...{ id: 'daily', report: 'daily_energy', range: 'yesterday', format: 'csv', destination: 'folder' },
    // In Paris it is 13:00.
    ...{ schedule: '0 14 * * *', timezone: 'Europe/Paris', nextAt: '2026-11-20T13:00:00.000Z' },
    ...{ pending: 19, failed: 1, outdated: 1, outdatedWh: 102, runCount: 21 },
  });
  expect(answer.runs).toHaveLength(20);
  expect(answer.runs[0]).toMatchObject({ name: '2026-11-19_r2' });
  expect(answer.runs.map(({ state }) => state)).not.toContain('failed');
  expect(answerOf({ schedule: '0 14 * * *', timezone: 'Etc/UTC' }, [])).toMatchObject({
    timezone: 'Etc/UTC',
    nextAt: '2026-11-20T14:00:00.000Z',
  });
  expect(answerOf({}, [])).toMatchObject({ schedule: null, nextAt: null, runs: [], runCount: 0 });
});

test('an export has a row for each run, and one row without runs', () => {
  const { columns, rows } = exportRows([answerOf({}, [failed, delivered]), answerOf({ id: 'new' }, [])]);
  const about = (id: string) => [
    id,
    'daily_energy',
    'yesterday',
    'csv',
    'folder',
    null,
    'Europe/Paris',
    null,
  ];
  const cells = rows.map((row) => columns.map((name) => row[name]));
  expect(cells[0]).toEqual([
    ...[...about('daily'), '2026-11-19_r2', '2026-11-19', '2026-11-19', 2, 'correction', 'delivered', AT],
    ...['daily.csv', 5, 900, 70, 'ab', 3, null, AT, AT, 51],
  ]);
  expect(cells[1]).toEqual([
    ...[...about('daily'), '2026-11-19', '2026-11-19', '2026-11-19', 1, 'schedule', 'failed', AT],
    ...[null, null, null, null, null, 0, 'no answer', null, null, null],
  ]);
  expect(cells[2]).toEqual([...about('new'), ...Array(17).fill(undefined)]);
});

test.each<[what: string, error: Error, refusal: object]>([
  [
    'a wrong period',
    new InputError('the export', [{ path: 'id', message: 'has not ended yet' }]),
    { code: 'InvalidRequest', message: 'period: has not ended yet', details: { parameter: 'period' } },
  ],
  [
    'a destination that does not answer',
    new TransientError('DestinationUnreachable', 'it does not answer'),
    {
      code: 'StorageUnavailable',
      message: 'the export has failed: it does not answer',
      retryAfterSeconds: 60,
    },
  ],
  [
    'a destination that refuses it for ever',
    new TerminalError('TooManyStatistics', 'too many'),
    { code: 'InvalidRequest', message: 'the export has failed: too many', retryAfterSeconds: undefined },
  ],
])('a run by hand is refused because of %s', (_, error, refusal) => {
  expect(runRefusal(error)).toMatchObject(refusal);
});

test('a run by hand that the report refuses has the words of the report', () => {
  const error = new StreamError('InvalidRequest', 'scenario: no budget has it');
  expect(runRefusal(error)).toBe(error);
});
