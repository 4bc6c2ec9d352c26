import type { AlertCondition } from './alert-condition-type.ts';
import { inPercent } from './in-percent.ts';

export const budget: AlertCondition<'budget'> = {
  title: 'Below the budget',
  find: ({ budgets }, { limit }) =>
    budgets
      ?.filter(({ actualWh, budgetWh }) => budgetWh > 0 && actualWh < (1 - limit) * budgetWh)
      .map(({ site, month }) => ({
        subject: `${site} ${month}`,
        text: `${site} is more than ${inPercent(limit)} % below its budget of ${month} up to yesterday`,
      })),
};
