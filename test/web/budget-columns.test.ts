import { expect, test } from 'vitest';
import type { Variance } from '../../src/web/facts/answers.ts';
import { budgetColumns } from '../../src/web/facts/budget-columns.ts';
import { makeVariance } from './support/make-variance.ts';

const month = (changed: Partial<Variance['months'][string]>): Variance['months'][string] => ({
  ...{ ...makeVariance({}).total, days: 30, elapsedDays: 30, comparedDays: 30 },
  ...{ actualWh: 900, budgetOfAllDaysWh: 1_000 },
  ...changed,
});
/** The columns of 2026 on May 17. */
const shown = (months: Variance['months']) =>
  budgetColumns(makeVariance({ months }), { from: '2026-01-01', to: '2026-12-31' }, '2026-05-17').map(
    ({ key, state, values: [wh], reference, mark, notes }) =>
      [key, state, wh, reference, mark ?? '-', ...notes.slice(1)].join(' | '),
  );

test('months have the budget of all their days, and what is left out of them', () => {
  const months = {
    '2026-01': month({}),
    '2026-02': month({ comparedDays: 0, actualWh: 0 }),
    '2026-03': month({ comparedDays: 28, actualWh: 800 }),
    '2026-04': month({ budgetOfAllDaysWh: null as unknown as number }),
    // Of the present month and of later ones nothing need be known yet.
    '2026-05': month({ elapsedDays: 0, comparedDays: 0, actualWh: 0 }),
    '2026-06': month({ elapsedDays: 0, comparedDays: 0, actualWh: 0 }),
  };
  expect(shown(months).slice(0, 7)).toEqual([
    '2026-01 | measured | 900 | 1000 | - | budget 1.00\u00a0kWh',
    '2026-02 | missing |  | 1000 | doubtful | budget 1.00\u00a0kWh | 30\u00a0days left out',
    '2026-03 | measured | 800 | 1000 | doubtful | budget 1.00\u00a0kWh | 2\u00a0days left out',
    '2026-04 | measured | 900 |  | - | no budget',
    '2026-05 | future |  | 1000 | - | budget 1.00\u00a0kWh',
    '2026-06 | future |  | 1000 | - | budget 1.00\u00a0kWh',
    '2026-07 | future |  |  | - | no budget',
  ]);
});
