import type { AnsweredRole } from '../../report/balance-answers.ts';

/** The roles of an energy balance in the order of a stack: into the site first, then out of it. */
export const roleWords = {
  production: { name: 'Production', side: 1 },
  battery_discharge: { name: 'From battery', side: 1 },
  grid_import: { name: 'Grid import', side: 1 },
  consumption: { name: 'Consumption', side: -1 },
  battery_charge: { name: 'Into battery', side: -1 },
  grid_export: { name: 'Grid export', side: -1 },
} as const satisfies Record<AnsweredRole, { name: string; side: 1 | -1 }>;

export type BalanceRole = keyof typeof roleWords;

export const stackedRoles = Object.keys(roleWords) as BalanceRole[];

export function isBalanceRole(text: string | undefined): text is BalanceRole {
  return text !== undefined && Object.hasOwn(roleWords, text);
}
