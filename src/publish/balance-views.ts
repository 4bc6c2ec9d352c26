import {
  type BalanceInputs,
  type BalanceResolution,
  balanceSql,
  lakeSources,
} from '../balance/balance-sql.ts';
import type { UtcMs } from '../lib/time.ts';
import { loadSql } from '../warehouse/load-sql.ts';
import type { FilesOf, View, ViewColumn } from './lake-view.ts';

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
  const [daily, interval, series, day] = (
    ['daily_energy', 'interval_energy', 'series', 'local_day'] as const
  ).map((dataset) => files(dataset));
  if (!daily || !interval || !series || !day) return undefined;
  const sites = files('site_member');
  const absent = files('absent_role');
  const peaks = files('peak_power');
  const siteDevices = sites && `(SELECT * FROM ${sites} WHERE device IS NOT NULL)`;
  // Without members the site is the whole workgroup.
  const wholeSites =
    absent &&
    `(SELECT DISTINCT site FROM ${absent} WHERE site IS NOT NULL${sites ? ` AND site NOT IN (SELECT site FROM ${sites})` : ''})`;
  const inputs: BalanceInputs = {
    rule: `SELECT * REPLACE (${Math.floor(publishedMs)}::BIGINT AS now_ms) FROM (${loadSql('balance/find_rule')})`,
    own_day: `SELECT day, epoch_ms(day_start) AS start_ms, epoch_ms(day_end) AS end_ms FROM ${day}`,
    zone_day: 'FROM own_day',
    role_span: `FROM ${files('source_role')}`,
    scope: [
      `SELECT 'workgroup' AS scope_id, 'workgroup' AS scope, NULL::VARCHAR AS site, NULL::UUID AS device, true AS is_site, ${siteDevices ? `(SELECT count(DISTINCT site) < 2 FROM ${siteDevices})` : 'true'} AS nets`,
      ...(siteDevices
        ? [`SELECT DISTINCT concat('site/', site), 'site', site, NULL::UUID, true, true FROM ${siteDevices}`]
        : []),
      ...(wholeSites
        ? [`SELECT concat('site/', site), 'site', site, NULL::UUID, true, true FROM ${wholeSites}`]
        : []),
      `SELECT DISTINCT concat('device/', device), 'device', NULL::VARCHAR, device, false, true FROM role_span WHERE role <> 'other'`,
    ].join(' UNION ALL '),
    scope_member: [
      `SELECT 'workgroup' AS scope_id, NULL::UUID AS device, NULL::VARCHAR AS source, 1 AS sign, NULL::DATE AS valid_from, NULL::DATE AS valid_to`,
      ...(siteDevices
        ? [`SELECT concat('site/', site), device, source, sign, valid_from, valid_to FROM ${siteDevices}`]
        : []),
      ...(wholeSites ? [`SELECT concat('site/', site), NULL, NULL, 1, NULL, NULL FROM ${wholeSites}`] : []),
      `SELECT scope_id, device, NULL, 1, NULL, NULL FROM scope WHERE scope = 'device'`,
    ].join(' UNION ALL '),
    scope_absent: absent
      ? `SELECT coalesce('site/' || site, 'workgroup') AS scope_id, role FROM ${absent}`
      : 'SELECT NULL::VARCHAR AS scope_id, NULL::VARCHAR AS role WHERE false',
    device_peak: peaks
      ? `FROM ${peaks}`
      : 'SELECT NULL::UUID AS device, NULL::DOUBLE AS kwp, NULL::DATE AS valid_from, NULL::DATE AS valid_to WHERE false',
    sources: lakeSources({
      daily_energy: `FROM ${daily}`,
      interval_energy: `FROM ${interval}`,
      series: `FROM ${series}`,
    }),
  };
  return `(${balanceSql(inputs, resolution)} SELECT * EXCLUDE (scope_id) FROM balance JOIN scope USING (scope_id))`;
}
