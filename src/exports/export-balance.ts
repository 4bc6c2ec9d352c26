import { siteScope, workgroupScope } from '../balance/balance-scope.ts';
import type { BalanceResolution } from '../balance/balance-sql.ts';
import { formatCount, formatCountOf } from '../lib/format-count.ts';
import { type BalanceQuestion, balanceStatement } from '../report/balance-question.ts';
import { balanceFlows, balanceQuality, balanceRates, balanceSums } from '../report/balance-rows.ts';
import type { ColumnName } from '../report/rows/row-columns.ts';
import { noRows, type RowSelect, type RowShape } from '../report/rows/row-select.ts';
import type { DayRange } from '../report/site-report.ts';
import type { ExportQuery, OpenReport } from './exported-report.ts';

/** The energies of a row, with the consumption first. */
const energies = ['consumption_wh', ...balanceFlows.filter((name) => name !== 'consumption_wh')] as const;

const shapes: Readonly<Record<'interval' | 'day', RowShape>> = {
  day: {
    columns: ['day', 'scope', ...balanceFlows, ...balanceRates, ...balanceSums, ...balanceQuality],
    order: ['day'],
    key: ['scope'],
    energies,
  },
  interval: {
    columns: [
      'day',
      'interval_start',
      'interval_start_local',
      'scope',
      ...balanceFlows,
      ...balanceRates,
      ...balanceQuality,
    ],
    order: ['interval_start'],
    key: ['scope', 'interval_start'],
    energies,
  },
};

/** The SQL of columns that differ from the columns of the balance. */
const cells: Partial<Record<ColumnName, string>> = {
  interval_start: 'make_timestamptz(at_ms * 1000) AS interval_start',
  interval_start_local: 'timezone($zone, make_timestamptz(at_ms * 1000)) AS interval_start_local',
  scope: '$scope::VARCHAR AS scope',
  missing: "nullif(array_to_string(missing, ' '), '') AS missing",
};

/** Whether a file of the format shows the sums of the months next to the rows. */
const showsSums: Readonly<Record<ExportQuery['config']['format'], boolean>> = {
  csv: false,
  parquet: false,
  xlsx: true,
  json: false,
};

export const openBalance: OpenReport = async (query, { generation, lake, signal }) => {
  const { resolution = 'day', format } = query.config;
  const statementOf = (range: DayRange, by: BalanceResolution) =>
    balanceStatement({ ...questionOf(query, range), resolution: by, generation });
  const months = showsSums[format] ? await statementOf(query.period, 'month').read(lake, signal) : undefined;
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
export function monthsInWords(parts: readonly Uint8Array[]): Array<[string, string]> {
  const months = JSON.parse(Buffer.concat(parts).toString()) as Record<string, Record<string, number | null>>;
  const wh = (value: number | null | undefined) => (value == null ? 'not known' : `${formatCount(value)} Wh`);
  const percent = (value: number | null | undefined) =>
    value == null ? '' : ` (${Math.round(value * 1_000) / 10} %)`;
  return Object.entries(months).map(([month, sums]) => [
    month,
    `production ${wh(sums.productionWh)}, consumption ${wh(sums.consumptionWh)}, self-consumption ${wh(sums.selfConsumptionWh)}${percent(sums.selfConsumptionRate)}, self-supply ${wh(sums.selfSupplyWh)}${percent(sums.autarky)}, of ${sums.completeDays} of ${formatCountOf(sums.days ?? 0, 'day')}`,
  ]);
}
