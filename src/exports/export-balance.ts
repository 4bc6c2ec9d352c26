import { siteScope, workgroupScope } from '../balance/balance-scope.ts';
import type { BalanceResolution } from '../balance/balance-sql.ts';
import { type BalanceQuestion, balanceStatement } from '../report/balance-question.ts';
import type { DayRange } from '../report/site-report.ts';
import type { ColumnName } from './export-columns.ts';
import {
  type ExportQuery,
  noRows,
  type OpenReport,
  type RowSelect,
  type RowShape,
} from './exported-report.ts';

const flows = [
  ...(['production_wh', 'consumption_wh', 'grid_import_wh', 'grid_export_wh'] as const),
  ...(['battery_charge_wh', 'battery_discharge_wh', 'grid_net_wh', 'residual_wh'] as const),
  ...(['self_consumption_wh', 'self_supply_wh', 'grid_to_battery_wh', 'battery_to_grid_wh'] as const),
] as const;
const rates = ['self_consumption_rate', 'autarky'] as const;
const sums = ['self_consumption_max_wh', 'autarky_max', 'specific_yield', 'coverage'] as const;
const quality = ['computed', 'missing', 'flags'] as const;

const shapes: Readonly<Record<'interval' | 'day', RowShape>> = {
  day: {
    columns: ['day', 'scope', ...flows, ...rates, ...sums, ...quality],
    order: ['day'],
    key: ['scope'],
    energies: ['consumption_wh', ...flows.filter((name) => name !== 'consumption_wh')],
  },
  interval: {
    columns: ['day', 'interval_start', 'interval_start_local', 'scope', ...flows, ...rates, ...quality],
    order: ['interval_start'],
    key: ['scope', 'interval_start'],
    energies: ['consumption_wh', ...flows.filter((name) => name !== 'consumption_wh')],
  },
};

/** The SQL of columns that differ from the columns of the balance. */
const cells: Partial<Record<ColumnName, string>> = {
  interval_start: 'make_timestamptz(at_ms * 1000) AS interval_start',
  interval_start_local: 'timezone($zone, make_timestamptz(at_ms * 1000)) AS interval_start_local',
  scope: '$scope::VARCHAR AS scope',
  missing: "nullif(array_to_string(missing, ' '), '') AS missing",
};

export const openBalance: OpenReport = async (query, { generation, lake, signal }) => {
  const { resolution = 'day', format } = query.config;
  const statementOf = (range: DayRange, by: BalanceResolution) =>
    balanceStatement({ ...questionOf(query, range), resolution: by, generation });
  const months = format === 'xlsx' ? await statementOf(query.period, 'month').read(lake, signal) : undefined;
  return {
    rows: (range) => selectRows(query, shapes[resolution], statementOf(range, resolution).rows()),
    body: (range) => statementOf(range, resolution).read(lake, signal),
    ...(months && { sums: () => monthsInWords(months) }),
  };
};

/** The days of an export have ended. */
function questionOf(
  { config, workgroup }: ExportQuery,
  range: DayRange,
): Omit<BalanceQuestion, 'resolution' | 'generation'> {
  const site = workgroup.sites.find(({ name }) => name === config.site);
  const { startDay, endDay } = range;
  return {
    scope: site ? siteScope(site) : workgroupScope(workgroup),
    startDay,
    endDay,
    zone: workgroup.timezone,
    ownZone: workgroup.timezone,
    nowMs: Number.MAX_SAFE_INTEGER,
  };
}

function selectRows(
  { config, workgroup }: ExportQuery,
  shape: RowShape,
  rows: Pick<RowSelect, 'reads' | 'sql' | 'parameters'> | undefined,
): RowSelect {
  if (!rows) return noRows(shape);
  const columns = shape.columns.map((name) => cells[name] ?? name);
  return {
    ...shape,
    reads: rows.reads,
    sql: `${rows.sql}SELECT ${columns.join(', ')} FROM balance`,
    parameters: {
      ...rows.parameters,
      scope: config.site ?? workgroup.id,
      ...(shape.columns.includes('interval_start_local') && { zone: workgroup.timezone }),
    },
  };
}

/** The balance of each month, as text. */
function monthsInWords(parts: readonly Uint8Array[]): Array<[string, string]> {
  const months = JSON.parse(Buffer.concat(parts).toString()) as Record<string, Record<string, number | null>>;
  const wh = (value: number | null | undefined) =>
    value == null ? 'not known' : `${value.toLocaleString('en')} Wh`;
  const percent = (value: number | null | undefined) =>
    value == null ? '' : ` (${Math.round(value * 1_000) / 10} %)`;
  return Object.entries(months).map(([month, told]) => [
    month,
    `production ${wh(told.productionWh)}, consumption ${wh(told.consumptionWh)}, self-consumption ${wh(told.selfConsumptionWh)}${percent(told.selfConsumptionRate)}, self-supply ${wh(told.selfSupplyWh)}${percent(told.autarky)}, of ${told.completeDays} of ${told.days} days`,
  ]);
}
