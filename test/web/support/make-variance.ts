import type { Variance } from '../../../src/web/facts/answers.ts';

/** A comparison with a budget as the service answers it. Without changes nothing is known. */
export function makeVariance(
  changed: Partial<Omit<Variance, 'total'>> & { total?: Partial<Variance['total']> },
): Variance {
  return {
    site: 'Barn',
    timezone: 'Europe/Berlin',
    scenario: null,
    scenarios: {},
    metersWithoutBudget: [],
    days: {},
    months: {},
    ...changed,
    total: {
      days: 4,
      elapsedDays: 2,
      comparedDays: 0,
      partialDays: 0,
      actualWh: 0,
      budgetWh: 0,
      varianceWh: null,
      variancePercent: null,
      budgetToDateWh: 0,
      budgetOfAllDaysWh: 0,
      ...changed.total,
    },
  };
}
