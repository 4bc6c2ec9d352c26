import { expect, test } from 'vitest';
import { type ConfigInput, configSchema } from '../../src/config/config.ts';
import { duePeriods, newRun, planDue } from '../../src/exports/due-periods.ts';
import { parsePeriod } from '../../src/exports/export-period.ts';
import { openFolderLedger } from '../../src/exports/folder-ledger.ts';
import { DAY_MS, MINUTE_MS } from '../../src/lib/time.ts';
import { tempDir } from '../support/temp-dir.ts';

/** Noon. */
const NOW_MS = Date.parse('2026-11-20T12:00:00Z');

/** A new export without runs, and what is planned for it. */
function openSchedule(more: Partial<NonNullable<ConfigInput['exports']>[number]>) {
  const daily = { id: 'daily', workgroup: 'acme', report: 'daily_energy', range: 'yesterday', format: 'csv' };
  const { workgroups, exports } = configSchema.parse({
    workgroups: [{ id: 'acme' }],
    exports: [{ ...daily, destination: { folder: '/exports' }, ...more }],
  });
  const open = {
    config: exports[0]!,
    workgroup: workgroups[0]!,
    ledger: openFolderLedger(tempDir(), 'daily'),
  };
  return {
    open,
    async plannedAt(nowMs: number) {
      await planDue(open, nowMs);
      return (await open.ledger.runs()).map(({ period }) => period);
    },
  };
}

test('a new export begins with the next due time, or with the one of this minute', async () => {
  const earlier = openSchedule({ schedule: '59 11 * * *' });
  expect(await earlier.plannedAt(NOW_MS)).toEqual([]);
  expect(await earlier.plannedAt(NOW_MS + DAY_MS - MINUTE_MS)).toEqual(['2026-11-20']);
  expect(await openSchedule({ schedule: '0 12 * * *' }).plannedAt(NOW_MS)).toEqual(['2026-11-19']);
  // The queue runs it a little later.
  expect(await openSchedule({ schedule: '0 12 * * *' }).plannedAt(NOW_MS + MINUTE_MS - 1)).toEqual([
    '2026-11-19',
  ]);
});

test('periods that were due while nothing ran are planned later, each once', async () => {
  const daily = openSchedule({ schedule: '0 6 * * *' });
  const monthly = openSchedule({ schedule: '0 6 * * *', range: 'last_month' });
  expect(await daily.plannedAt(NOW_MS)).toEqual([]);
  expect(await monthly.plannedAt(NOW_MS)).toEqual([]);
  const days = ['2026-11-20', '2026-11-21', '2026-11-22'];
  expect(await daily.plannedAt(NOW_MS + 3 * DAY_MS)).toEqual(days);
  expect(await daily.plannedAt(NOW_MS + 3 * DAY_MS)).toEqual(days);
  expect(await daily.open.ledger.progress()).toMatchObject({ dueAfter: '2026-11-23T06:00:00.000Z' });
  expect(await monthly.plannedAt(NOW_MS + 3 * DAY_MS)).toEqual(['2026-10']);
  // After a long absence the newest 31 are planned.
  const later = await daily.plannedAt(NOW_MS + 103 * DAY_MS);
  expect([later.length, later[3], later.at(-1)]).toEqual([3 + 31, '2027-01-31', '2027-03-02']);
  expect(await monthly.plannedAt(NOW_MS + 103 * DAY_MS)).toEqual(['2026-10', '2027-01', '2027-02']);
});

test('a period that was run by hand is not planned again', async () => {
  const { open, plannedAt } = openSchedule({ schedule: '0 6 * * *' });
  await plannedAt(NOW_MS);
  const period = parsePeriod('2026-11-20')!;
  await open.ledger.save(newRun(open, period, { revision: 1, reason: 'by hand', nowMs: NOW_MS }));
  expect(await plannedAt(NOW_MS + 2 * DAY_MS)).toEqual(['2026-11-20', '2026-11-21']);
  expect((await open.ledger.runs()).map(({ reason }) => reason)).toEqual(['by hand', 'schedule']);
});

test('the schedule is in the zone of the export, and its periods are days of the workgroup', () => {
  const { open } = openSchedule({ schedule: '0 1 * * *', timezone: 'Asia/Tokyo' });
  const due = (dueAfter: string) => duePeriods(open, { dueAfter }, NOW_MS);
  // At one in Tokyo it is four in the afternoon of the day before in UTC.
  expect(due('2026-11-19T00:00:00Z').map(({ atMs, period }) => [atMs, period.name])).toEqual([
    [Date.parse('2026-11-19T16:00:00Z'), '2026-11-18'],
  ]);
  expect(due('2026-11-19T16:00:00Z')).toEqual([]);
});

test('an export without a schedule plans nothing', async () => {
  const byHand = openSchedule({});
  await byHand.plannedAt(NOW_MS);
  expect(await byHand.plannedAt(NOW_MS + 100 * DAY_MS)).toEqual([]);
});
