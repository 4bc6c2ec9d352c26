// @module-tag slow
import { expect, test } from 'vitest';
import { readBudgets } from '../../src/alerts/read-budgets.ts';
import { workgroupSchema } from '../../src/config/workgroup-settings.ts';
import { budget, budgets, intervals, openMeters, readings } from '../report/meter-support.ts';

const settings = {
  timezone: 'Asia/Tokyo',
  meters: [{ code: 'GRID-1' }],
  sites: [
    { name: 'roof', meters: [{ code: 'GRID-1' }] },
    { name: 'yard', devices: [{ id: '7c9e6679-7425-40de-944b-e07fc1f90ae7' }] },
  ],
};

test('sites with meters are compared with their budgets from the first of the month to yesterday', async () => {
  const at = await openMeters(settings);
  const workgroup = workgroupSchema.parse({ id: 'acme', ...settings });
  const read = (now: string) => readBudgets(at.lake, workgroup, Date.parse(now));
  expect(await read('2026-11-20T12:00:00Z')).toEqual([]);
  // 10 Wh of budget a day, and 1 Wh an hour, from 31 October in Tokyo.
  await at.put(budgets(budget('GRID-1', '2026-10', 310), budget('GRID-1', '2026-11', 300)));
  await at.put(intervals(...readings('GRID-1', '2026-10-30T15:00:00Z', 24, [24, 24, 24, 24, 24])));
  const roof = (month: string, actualWh: number, budgetWh: number) => [
    { site: 'roof', month, actualWh, budgetWh },
  ];
  // It is the third of November in Tokyo, one second before and after.
  expect(await read('2026-11-02T14:59:59Z')).toEqual(roof('2026-11', 24, 10));
  expect(await read('2026-11-02T15:00:00Z')).toEqual(roof('2026-11', 48, 20));
  // On the first of a month it is the month before.
  expect(await read('2026-11-01T14:59:59Z')).toEqual(roof('2026-10', 24, 10));
});
