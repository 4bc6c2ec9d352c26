import { expect, test } from 'vitest';
import type { DayValue } from '../../src/report/site-days.ts';
import { rowsOfVariance } from '../../src/report/site-rows.ts';
import { type Variance, varianceOf } from '../../src/report/variance.ts';

const day = (date: string, energyWh: number, flags: string[] = []): [string, Map<string, DayValue>] => [
  date,
  new Map([['PV', { energyWh, coverage: 1, flags }]]),
];

test('days on which no meter is a member, or without a budget, are not compared', () => {
  const days = ['2026-05-01', '2026-05-02', '2026-05-03'];
  const member = { key: 'PV', meter: 'PV', sign: 1, to: '2026-05-02' } as const;
  const variance = varianceOf(days, [member], {
    actual: new Map([day('2026-05-01', 10), day('2026-05-02', 20, ['partial']), day('2026-05-03', 30)]),
    budget: new Map([day('2026-05-01', 8), day('2026-05-03', 9)]),
    today: '2026-06-01',
  });
  expect(variance.days['2026-05-03']).toMatchObject({ actualWh: null, budgetWh: null, varianceWh: null });
  expect(variance.total).toMatchObject({
    days: 3,
    elapsedDays: 3,
    comparedDays: 1,
    partialDays: 0,
    actualWh: 10,
    budgetWh: 8,
    varianceWh: 2,
  });
});

test('a day is compared once it is over and all its meters have energy and a budget, by their signs', () => {
  const member = (key: string, sign: 1 | -1) => ({ key, meter: key, sign }) as const;
  const known = (wh: Record<string, number | null>, scenario?: string) =>
    new Map(
      Object.entries(wh).map(([key, energyWh]) => [
        key,
        { energyWh, coverage: 1, flags: [], ...(scenario !== undefined && { scenario }) } as DayValue,
      ]),
    );
  const days = ['2026-04-30', '2026-05-01', '2026-05-02', '2026-05-03'];
  const variance = varianceOf(days, [member('IN', 1), member('OUT', -1), member('NEW', 1)], {
    actual: new Map([
      ['2026-04-30', known({ IN: 100, OUT: 10 })],
      // A register that fell has no energy.
      ['2026-05-01', known({ IN: 100, OUT: null })],
      ['2026-05-02', known({ IN: 50, OUT: 20 })],
    ]),
    budget: new Map([
      ['2026-04-30', known({ IN: 80, OUT: 20 }, 'P50')],
      ['2026-05-01', known({ IN: 80, OUT: 20 }, 'P50')],
      ['2026-05-02', known({ IN: 80, OUT: 20 }, 'P90')],
      ['2026-05-03', known({ IN: 80, OUT: 20 }, 'P90')],
    ]),
    today: '2026-05-02',
  });
  expect(variance.days['2026-04-30']).toMatchObject({
    ...{ actualWh: 90, budgetWh: 60, varianceWh: 30, variancePercent: 50 },
  });
  expect(variance.days['2026-05-01']).toMatchObject({ actualWh: null, budgetWh: 60, varianceWh: null });
  // It is not over.
  expect(variance.days['2026-05-02']).toMatchObject({ actualWh: 30, budgetWh: 60, varianceWh: null });
  expect(variance).toMatchObject({
    scenario: null,
    scenarios: { IN: ['P50', 'P90'], OUT: ['P50', 'P90'] },
    metersWithoutBudget: ['NEW'],
    total: {
      ...{ days: 4, elapsedDays: 2, comparedDays: 1, actualWh: 90, budgetWh: 60, varianceWh: 30 },
      ...{ variancePercent: 50, budgetToDateWh: 120, budgetOfAllDaysWh: 240 },
    },
    months: {
      '2026-04': { days: 1, comparedDays: 1, varianceWh: 30 },
      '2026-05': { days: 3, elapsedDays: 1, comparedDays: 0, varianceWh: null, variancePercent: null },
    },
  });
});

test('a row of a day names its scenarios, and none if it has no budget', () => {
  const day = { actualWh: 5, budgetWh: null, varianceWh: null, variancePercent: null, partial: true };
  const days = {
    '2026-05-01': { ...day, scenarios: [] },
    '2026-05-02': { ...day, scenarios: ['P50', 'P90'] },
  };
  const cells = { site: 'roof', actual_wh: 5, budget_wh: null, variance_wh: null, variance_percent: null };
  expect(rowsOfVariance({ site: 'roof', days } as Partial<Variance> as Variance)).toEqual([
    { ...cells, day: '2026-05-01', scenario: null, partial: true },
    { ...cells, day: '2026-05-02', scenario: 'P50, P90', partial: true },
  ]);
});
