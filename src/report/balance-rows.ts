import type { BalanceResolution } from '../balance/balance-sql.ts';
import type { ColumnName } from './rows/row-columns.ts';
import { listedRows, type ReportRow, type ReportRows } from './rows/row-select.ts';

/** The flows of a balance. */
export const balanceFlows = [
  ...(['production_wh', 'consumption_wh', 'grid_import_wh', 'grid_export_wh'] as const),
  ...(['battery_charge_wh', 'battery_discharge_wh', 'grid_net_wh', 'residual_wh'] as const),
  ...(['self_consumption_wh', 'self_supply_wh', 'grid_to_battery_wh', 'battery_to_grid_wh'] as const),
] as const;
export const balanceRates = ['self_consumption_rate', 'autarky'] as const;
export const balanceSums = [
  'self_consumption_max_wh',
  'autarky_max',
  'specific_yield',
  'coverage',
] as const satisfies ColumnName[];
export const balanceQuality = ['computed', 'missing', 'flags'] as const;

const periodColumns = {
  interval: ['interval_start'],
  day: ['day'],
  month: ['period', 'days', 'complete_days'],
  year: ['period', 'days', 'complete_days'],
} as const satisfies Record<BalanceResolution, ColumnName[]>;

/**
 * A balance as rows, one for each period.
 * @param parts the answer in JSON
 * @param scope the name of the site, or the id of the workgroup or device
 */
export function balanceRows(
  parts: readonly Uint8Array[],
  resolution: BalanceResolution,
  scope: string,
): ReportRows {
  const [period, ...counts] = periodColumns[resolution];
  const values: ColumnName[] = [
    ...counts,
    ...balanceFlows,
    ...balanceRates,
    ...balanceSums,
    ...balanceQuality,
  ];
  const answer = JSON.parse(Buffer.concat(parts).toString()) as Record<
    string,
    Record<string, ReportRow[ColumnName]>
  >;
  const rows = Object.entries(answer).map(([at, balance]) => ({
    [period]: at,
    scope,
    ...Object.fromEntries(values.map((column) => [column, balance[memberOf(column)] ?? null])),
    missing: (balance.missing as string[]).join(' ') || null,
  }));
  return listedRows({ columns: [period, 'scope', ...values], order: [period] }, rows);
}

/** `grid_import_wh` is `gridImportWh` in JSON. */
function memberOf(column: ColumnName): string {
  return column.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}
