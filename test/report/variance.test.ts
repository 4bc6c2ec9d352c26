import { expect, test } from 'vitest';
import type { DayValue } from '../../src/report/site-days.ts';
import { varianceOf } from '../../src/report/variance.ts';

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
