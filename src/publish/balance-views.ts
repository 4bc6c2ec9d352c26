import {
  type BalanceInputs,
  type BalanceResolution,
  balanceSql,
  commonTable,
  emptyTable,
  lakeSources,
} from '../balance/balance-sql.ts';
import type { UtcMs } from '../lib/time.ts';
import { loadSql } from '../warehouse/load-sql.ts';
import type { DatasetName } from './datasets.ts';
import { declaredDeviceViews } from './declared-device-views.ts';
import type { FilesOf, View, ViewColumn } from './lake-view.ts';
import { meterViews } from './meter-views.ts';

const wh = (name: string, comment: string): ViewColumn => ({ name, type: 'BIGINT', comment });
const share = (name: string, comment: string): ViewColumn => ({ name, type: 'DOUBLE', comment });

const scopeColumns: readonly ViewColumn[] = [
  { name: 'scope', type: 'VARCHAR', comment: 'Scope of the balance: workgroup, site or device' },
  { name: 'site', type: 'VARCHAR', comment: 'Name of the site; null for the workgroup and for devices' },
  { name: 'device', type: 'UUID', comment: 'Device; null for the workgroup and for sites' },
];
const flows: readonly ViewColumn[] = [
  wh('production_wh', 'Generated, Wh'),
  wh('consumption_wh', 'Used by loads, without the charge of batteries, Wh'),
  wh('grid_import_wh', 'From the grid, Wh'),
  wh('grid_export_wh', 'Into the grid, Wh'),
  wh('battery_charge_wh', 'Into storage, Wh'),
  wh('battery_discharge_wh', 'Out of storage, Wh'),
  wh('grid_net_wh', 'Import minus export, Wh'),
  wh('residual_wh', 'Inflow minus outflow of the measured roles, Wh; 0 if a role is computed'),
  wh('self_consumption_wh', 'Production minus export, Wh; negative if a battery feeds the grid'),
  wh('self_supply_wh', 'Consumption minus import, Wh; negative if the grid charges a battery'),
  wh('grid_to_battery_wh', 'At least this much of the charge came from the grid, Wh'),
  wh('battery_to_grid_wh', 'At least this much of the discharge went into the grid, Wh'),
];
const quality: readonly ViewColumn[] = [
  {
    name: 'computed',
    type: 'VARCHAR[]',
    comment: 'Roles that are computed from the others',
  },
  { name: 'missing', type: 'VARCHAR[]', comment: 'Measured roles without a known value' },
  {
    name: 'rest',
    type: 'MAP(VARCHAR, BIGINT)',
    comment: 'Remaining energy of sources that contain others, by series, Wh',
  },
  {
    name: 'flags',
    type: 'VARCHAR[]',
    comment:
      'netted, undetermined, estimated, shape_unknown, incomplete, noise, imbalance, grid_cycled, peak_unknown: see docs/balance.md',
  },
];
const rates: readonly ViewColumn[] = [
  share('self_consumption_rate', 'Used share of the production, 0 to 1; null without production'),
  share(
    'autarky',
    'Share of the consumption that did not come from the grid, 0 to 1; null without consumption',
  ),
];
const sums: readonly ViewColumn[] = [
  ...rates,
  wh(
    'self_consumption_max_wh',
    'At most this much of the production was used, Wh, if flags have shape_unknown',
  ),
  share('autarky_max', 'Autarky at most, 0 to 1, if flags have shape_unknown'),
  share('specific_yield', 'Production divided by peak power, kWh/kWp; null without a configured peak power'),
  share('coverage', 'Share of the intervals, 0 to 1, in which all measured roles are known'),
];
const intervals: ViewColumn = {
  name: 'intervals',
  type: 'BIGINT',
  comment: 'Number of ended intervals: 96 a day, or 92 or 100 if the clock changes',
};

/** The energy balance of the workgroup, of each site and of each device. */
export const balanceViews: readonly View[] = [
  {
    name: 'balance_interval',
    dataset: 'source_role',
    comment:
      'The energy balance of each 15-minute interval of the workgroup, of each site and of each device: production + import + discharge = consumption + export + charge + residual. Choose one scope, because rows of different scopes must not be added',
    from: (files, publishedMs) => balanceOf(files, publishedMs, 'interval'),
    columns: [
      ...scopeColumns,
      {
        name: 'interval_start',
        type: 'TIMESTAMPTZ',
        select: 'make_timestamptz(at_ms * 1000)',
        comment: 'First instant of the 15 minutes',
      },
      { name: 'day', type: 'DATE', comment: "Local day, in the workgroup's time zone" },
      ...flows,
      ...rates,
      ...quality,
    ],
  },
  {
    name: 'balance_daily',
    dataset: 'source_role',
    comment:
      "The energy balance of each day of the workgroup's time zone: sums of balance_interval, null if one of them is null. Choose one scope, because rows of different scopes must not be added",
    from: (files, publishedMs) => balanceOf(files, publishedMs, 'day'),
    columns: [
      ...scopeColumns,
      { name: 'day', type: 'DATE', comment: "Local day, in the workgroup's time zone" },
      intervals,
      ...flows,
      ...sums,
      ...quality,
    ],
  },
  {
    name: 'balance_monthly',
    dataset: 'source_role',
    comment:
      'The energy balance of each month: sums of the complete days. Choose one scope, because rows of different scopes must not be added',
    from: (files, publishedMs) => balanceOf(files, publishedMs, 'month'),
    columns: [
      ...scopeColumns,
      { name: 'month', type: 'DATE', select: "(period || '-01')::DATE", comment: 'First day of the month' },
      { name: 'days', type: 'BIGINT', comment: 'Days of the month that have begun' },
      { name: 'complete_days', type: 'BIGINT', comment: 'Complete days, which the sums contain' },
      intervals,
      ...flows,
      ...sums,
      ...quality,
    ],
  },
];

/**
 * The balance at the time of publication, so it is the same whenever it is read.
 * @returns undefined if there is no energy yet
 */
function balanceOf(files: FilesOf, publishedMs: UtcMs, resolution: BalanceResolution): string | undefined {
  const needed: readonly DatasetName[] = ['daily_energy', 'interval_energy', 'series', 'local_day'];
  if (!needed.every(files)) return undefined;
  const from = (dataset: DatasetName) => `FROM ${files(dataset)}`;
  const inputs: BalanceInputs = {
    rule: `SELECT * REPLACE (${Math.floor(publishedMs)}::BIGINT AS now_ms) FROM (${loadSql('balance/find_rule')})`,
    own_day: loadSql('publish/find_own_day'),
    zone_day: 'FROM own_day',
    role_span: from('source_role'),
    device_peak: 'FROM peak_power',
    scope: loadSql('publish/find_view_scope'),
    scope_member: loadSql('publish/find_view_member'),
    scope_absent: loadSql('publish/find_view_absent'),
    sources: lakeSources({
      daily_energy: from('daily_energy'),
      interval_energy: from('interval_energy'),
      series: from('series'),
    }),
  };
  const declared = [
    commonTable('local_day', from('local_day')),
    ...(['site_member', 'absent_role', 'peak_power'] as const).map((dataset) =>
      commonTable(dataset, files(dataset) ? from(dataset) : emptyTable(columnsOf(dataset))),
    ),
    commonTable('site_device', loadSql('publish/find_site_device')),
    commonTable('whole_site', loadSql('publish/find_whole_site')),
  ];
  const balance = balanceSql(inputs, resolution) + loadSql('publish/select_scope_balance');
  return `(WITH ${declared.join(',\n')}\nFROM (\n${balance}\n))`;
}

/** The columns of a dataset without files: those of its view. */
function columnsOf(dataset: DatasetName): Record<string, string> {
  const { columns } = [...declaredDeviceViews, ...meterViews].find(({ name }) => name === dataset)!;
  return Object.fromEntries(columns.map(({ name, type }) => [name, type]));
}
