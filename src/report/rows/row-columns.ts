import { type ColumnType, columnKinds } from './column-kinds.ts';
import { listColumns } from './list-columns.ts';

const { text, energy, share, day, percent, instant, number } = columnKinds;

/** The columns of rows and of exported files: content, unit, and format. */
export const columnTypes = {
  day: day('Day', "Day in the workgroup's time zone"),
  interval_start: instant('Interval start (UTC)', 'Start of the 15 minutes, in UTC'),
  interval_start_local: {
    sql: 'TIMESTAMP',
    title: 'Interval start (local)',
    about: 'The same as local time of the zone of the days; repeated when clocks are put back',
    width: 21,
  },
  device: { sql: 'UUID', title: 'Device', about: 'Id of the device', width: 38 },
  device_name: text('Name', 'Configured name of the device', 24),
  source: text('Source', 'Part of the device that was measured', 14),
  energy_wh: energy('Energy (Wh)', 'Energy in watt-hours; empty if unknown'),
  method: text('Method', 'How the energy was computed', 14),
  flags: { sql: 'VARCHAR[]', title: 'Flags', about: 'Quality flags', width: 20 },
  coverage: {
    sql: 'DOUBLE',
    title: 'Coverage (%)',
    about: 'Share of the day that measurements cover; 0 to 1 in files for programs',
    width: 14,
    format: '0.0%',
  },
  status: text(
    'Status',
    'provisional: may still change; final; restated: has changed since it was final',
    12,
  ),
  version: number('Version', 'Grows with each restatement of the day'),
  computed_at: instant('Computed (UTC)', 'When this version was computed'),
  meter: text('Meter', 'Code of the meter', 16),
  meter_name: text('Name', 'Configured name of the meter', 24),
  quality: text(
    'Quality',
    'Worst quality of the readings of the day: measured, estimated, substituted, fault (a register fell)',
    12,
  ),
  revision: {
    sql: 'BIGINT',
    title: 'Revision',
    about: 'Highest revision of the uploads; for a meter with a device, the version of the day',
    width: 10,
  },
  kind: text('Kind', 'uploaded; derived: from telemetry of a device', 11),
  budget_wh: energy('Budget (Wh)', 'Budget in watt-hours; empty if there is none'),
  scenario: text('Scenario', 'Scenario of the budget; several if meters of a site have different ones', 12),
  period_start: day('Period from', 'First day of the budget period'),
  period_end: day('Period to', 'Last day of the budget period, included'),
  period_wh: energy('Period (Wh)', 'Budget of the whole period'),
  uploaded_at: instant('Uploaded (UTC)', 'When the budget was uploaded'),
  site: text('Site', 'Name of the site', 18),
  meters_wh: energy(
    'Meters (Wh)',
    'Sum of the meters with their signs; empty if a member is incomplete on this day',
  ),
  devices_wh: energy(
    'Devices (Wh)',
    'Sum of the devices with their signs; empty if a member is incomplete on this day',
  ),
  difference_wh: energy('Difference (Wh)', 'Meters minus devices'),
  difference_percent: percent('Difference (%)', 'Relative to the meters; empty if they are 0'),
  estimated: { sql: 'BOOLEAN', title: 'Estimated', about: 'True if it contains an estimate', width: 11 },
  missing: text('Missing', 'Missing parts of an incomplete day', 60),
  actual_wh: energy(
    'Actual (Wh)',
    'Sum of the meters with a budget, with their signs; empty if one has no energy',
  ),
  variance_wh: energy('Variance (Wh)', 'Actual minus budget; empty if one of them is unknown'),
  variance_percent: percent('Variance (%)', 'Relative to the budget; empty if there is none or it is 0'),
  partial: {
    sql: 'BOOLEAN',
    title: 'Partial',
    about: 'True if readings cover only a part of the day',
    width: 9,
  },
  scope: text('Balance of', 'Name of the site, or id of the workgroup', 18),
  production_wh: energy('Production (Wh)', 'Generated'),
  consumption_wh: energy('Consumption (Wh)', 'Used by loads, without the charge of batteries'),
  grid_import_wh: energy('Import (Wh)', 'From the grid'),
  grid_export_wh: energy('Export (Wh)', 'Into the grid'),
  battery_charge_wh: energy('Charge (Wh)', 'Into storage'),
  battery_discharge_wh: energy('Discharge (Wh)', 'Out of storage'),
  grid_net_wh: energy('Net import (Wh)', 'Import minus export'),
  residual_wh: energy('Residual (Wh)', 'Difference between the measured roles; 0 if one role is computed'),
  self_consumption_wh: energy('Self-consumption (Wh)', 'Production minus export'),
  self_supply_wh: energy('Self-supply (Wh)', 'Consumption minus import'),
  grid_to_battery_wh: energy('Grid to battery (Wh)', 'At least this much of the charge came from the grid'),
  battery_to_grid_wh: energy(
    'Battery to grid (Wh)',
    'At least this much of the discharge went into the grid',
  ),
  self_consumption_rate: share(
    'Self-consumption (%)',
    'Share of the production; 0 to 1 in files for programs',
  ),
  autarky: share('Autarky (%)', 'Share of self-supply in the consumption; 0 to 1 in files for programs'),
  self_consumption_max_wh: energy('Self-consumption at most (Wh)', 'With the flag shape_unknown'),
  autarky_max: share('Autarky at most (%)', 'With the flag shape_unknown; 0 to 1 in files for programs'),
  specific_yield: {
    sql: 'DOUBLE',
    title: 'Specific yield (kWh/kWp)',
    about: 'Production divided by the configured peak power',
    width: 14,
    format: '0.000',
  },
  computed: {
    sql: 'VARCHAR[]',
    title: 'Computed',
    about: 'Roles that are computed from the others',
    width: 22,
  },
  period: text('Period', 'Month or year', 10),
  days: { sql: 'BIGINT', title: 'Days', about: 'Number of days in the sum', width: 8 },
  complete_days: {
    sql: 'BIGINT',
    title: 'Complete days',
    about: 'Days on which every measured role is known',
    width: 8,
  },
  before_wh: energy('Before (Wh)', 'Energy before the change; empty if there was none'),
  after_wh: energy('After (Wh)', 'Energy after the change; empty if the day was withdrawn'),
  causes: { sql: 'VARCHAR[]', title: 'Causes', about: 'Causes of the change', width: 20 },
  changed_at: instant('Changed (UTC)', 'When the newest version was computed'),
  ...listColumns,
} as const satisfies Record<string, ColumnType>;

export type ColumnName = keyof typeof columnTypes;

export function columnType(name: ColumnName): ColumnType {
  return columnTypes[name];
}
