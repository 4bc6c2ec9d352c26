import { expect, test } from 'vitest';
import { workgroupScope } from '../../src/balance/balance-scope.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../src/lib/time.ts';
import type { StoredCommit } from '../../src/publish/commit-schema.ts';
import type { DatasetName } from '../../src/publish/datasets.ts';
import { lakePaths } from '../../src/publish/lake-layout.ts';
import { balanceStatement, elapsedIntervalsOf, refuseSize } from '../../src/report/balance-question.ts';
import { openedGeneration } from '../../src/report/lake/lake-reader.ts';

const endDay = '2026-11-20';
/** The end of the day in Paris. */
const endMs = Date.parse('2026-11-20T23:00:00Z');
const elapsedAt = (afterMs: number, zone = 'Europe/Paris') =>
  elapsedIntervalsOf({ endDay, zone, nowMs: endMs + afterMs });

test('a balance depends on the current interval until an hour and an interval after the range', () => {
  const lastMs = HOUR_MS + 15 * MINUTE_MS;
  expect(elapsedAt(-DAY_MS)).not.toBe('over');
  expect(elapsedAt(lastMs - 1)).not.toBe('over');
  expect(elapsedAt(lastMs)).toBe('over');
  // The day ends an hour later in UTC.
  expect(elapsedAt(lastMs, 'Etc/UTC')).not.toBe('over');
});

test('the current interval changes each quarter of an hour, and not within it', () => {
  expect(elapsedAt(15 * MINUTE_MS - 1)).toBe(elapsedAt(0));
  expect(elapsedAt(15 * MINUTE_MS)).not.toBe(elapsedAt(0));
});

test('a balance needs a source with a role, and at most 50,000 days of sources', () => {
  expect(() => refuseSize({ sources: 0, source_days: 0 })).toThrow('declare roles in the configuration');
  expect(() => refuseSize({ sources: 1, source_days: 50_000 })).not.toThrow();
  expect(() => refuseSize({ sources: 1, source_days: 50_001 })).toThrow(
    'the answer would need 50001 days of sources, but it can have at most 50000',
  );
});

/** The files of a generation that the balance of a day reads, as dataset and period. */
function filesRead(day: string, zone: string) {
  const file = (dataset: DatasetName, period = '') => ({
    ...{ dataset, period, folder: '', name: period, level: 0, rows: 1, bytes: 1, sha256: '', createdAtMs: 0 },
  });
  const files = [
    ...['2026-08', '2026-09', '2026-10', '2026-11', '2026-12', '2027-01'].map((month) =>
      file('daily_energy', month),
    ),
    ...['2026-09', '2026-11-13', '2026-11-14', '2026-11-15', '2026-11-16'].map((period) =>
      file('interval_energy', period),
    ),
    ...(['series', 'source_role', 'peak_power', 'budget'] as const).map((dataset) => file(dataset)),
  ];
  const commit = { format: 2, files } as unknown as StoredCommit;
  const generation = openedGeneration(lakePaths('/lake', 'home'), commit, async () => ({
    [Symbol.dispose]: () => undefined,
  }));
  const scope = workgroupScope({ sites: [] });
  const asked = { scope, resolution: 'day', startDay: day, endDay: day, zone, ownZone: 'Etc/UTC' } as const;
  const statement = balanceStatement({ ...asked, nowMs: endMs, generation });
  return statement.files.map(({ dataset, period }) => [dataset, period].filter(Boolean).join(' '));
}

test('a balance reads the days of the months around it, the intervals of its own days, and all declarations', () => {
  const others = ['series', 'source_role', 'peak_power'];
  expect(filesRead('2026-11-15', 'Etc/UTC')).toEqual([
    ...['2026-10', '2026-11', '2026-12'].map((month) => `daily_energy ${month}`),
    'interval_energy 2026-11-15',
    ...others,
  ]);
  expect(filesRead('2026-11-15', 'Pacific/Auckland')).toEqual([
    ...['2026-10', '2026-11', '2026-12'].map((month) => `daily_energy ${month}`),
    'interval_energy 2026-11-14',
    'interval_energy 2026-11-15',
    ...others,
  ]);
  expect(filesRead('2026-10-01', 'Etc/UTC').slice(0, 3)).toEqual([
    'daily_energy 2026-08',
    'daily_energy 2026-09',
    'daily_energy 2026-10',
  ]);
});
