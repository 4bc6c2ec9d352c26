import type { MeterConfig } from '../config/meters.ts';
import { loadSql } from '../warehouse/load-sql.ts';
import type { DaysSource } from './meter-days.ts';
import { noRows, type RowSelect, type RowShape, withNames } from './rows/row-select.ts';

const meterShape: RowShape = {
  columns: [
    ...(['day', 'meter', 'meter_name', 'energy_wh', 'quality', 'flags', 'coverage', 'revision'] as const),
    ...(['kind', 'device', 'source'] as const),
  ],
  order: ['day', 'meter'],
  key: ['meter'],
  energies: ['energy_wh'],
};

const budgetShape: RowShape = {
  columns: [
    ...(['day', 'meter', 'meter_name', 'scenario', 'budget_wh', 'period_start', 'period_end'] as const),
    ...(['period_wh', 'revision', 'uploaded_at'] as const),
  ],
  order: ['day', 'meter'],
  key: ['meter'],
  energies: ['budget_wh'],
};

/** Days of meters as rows, with their quality. */
export const meterRows = (days: DaysSource, meters: readonly MeterConfig[]): RowSelect =>
  rowsOf(days, meters, meterShape, 'rows/select_meter_days');

/** Days of budgets as rows, with their periods. */
export const budgetRows = (days: DaysSource, meters: readonly MeterConfig[]): RowSelect =>
  rowsOf(days, meters, budgetShape, 'rows/select_budget_days');

/** @param select makes the rows of "meter_day" */
function rowsOf(
  { statements }: DaysSource,
  meters: readonly MeterConfig[],
  shape: RowShape,
  select: string,
): RowSelect {
  if (!statements) return noRows(shape);
  const rows = { ...statements, sql: statements.sql + loadSql(select) };
  const names = meters.map(({ code, name }) => ({ id: code, name }));
  return { ...shape, reads: statements.reads, ...withNames(rows, 'meter', names) };
}
