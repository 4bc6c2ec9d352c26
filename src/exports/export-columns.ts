/** The columns of exported files: what each holds, its unit, and how formats show it. */
export interface ColumnType {
  /** As DuckDB has it. */
  sql:
    | 'DATE'
    | 'TIMESTAMPTZ'
    | 'TIMESTAMP'
    | 'UUID'
    | 'VARCHAR'
    | 'VARCHAR[]'
    | 'BIGINT'
    | 'DOUBLE'
    | 'BOOLEAN';
  /** Above the column, where people read it. */
  title: string;
  about: string;
  /** Of a sheet, in characters. */
  width: number;
  /** How a sheet shows the number; whole numbers with separators by default. */
  format?: string;
}

const text = (title: string, about: string, width: number): ColumnType => ({
  sql: 'VARCHAR',
  title,
  about,
  width,
});
const energy = (title: string, about: string): ColumnType => ({ sql: 'BIGINT', title, about, width: 16 });
const share = (title: string, about: string): ColumnType => ({
  sql: 'DOUBLE',
  title,
  about,
  width: 16,
  format: '0.0%',
});
const day = (title: string, about: string): ColumnType => ({ sql: 'DATE', title, about, width: 13 });
const percent = (title: string, about: string): ColumnType => ({
  sql: 'DOUBLE',
  title,
  about,
  width: 16,
  format: '0.00',
});

export const columnTypes = {
  day: day('Day', "Day in the workgroup's time zone"),
  interval_start: {
    sql: 'TIMESTAMPTZ',
    title: 'Interval start (UTC)',
    about: 'Where the 15 minutes begin, in UTC',
    width: 21,
  },
  interval_start_local: {
    sql: 'TIMESTAMP',
    title: 'Interval start (local)',
    about: "The same as a clock in the workgroup's time zone shows it; twice where that is set back",
    width: 21,
  },
  device: { sql: 'UUID', title: 'Device', about: 'Id of the device', width: 38 },
  device_name: text('Name', 'How the device is called in the configuration', 24),
  source: text('Source', 'Part of the device that was measured', 14),
  energy_wh: energy('Energy (Wh)', 'Energy in watt-hours; empty where nothing that was measured tells it'),
  method: text('Method', 'How the energy was read', 14),
  flags: { sql: 'VARCHAR[]', title: 'Flags', about: 'What is to be known of the quality', width: 20 },
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
  version: { sql: 'BIGINT', title: 'Version', about: 'Grows each time that the day is restated', width: 10 },
  computed_at: {
    sql: 'TIMESTAMPTZ',
    title: 'Computed (UTC)',
    about: 'When this version was computed',
    width: 21,
  },
  meter: text('Meter', 'Code of the meter', 16),
  meter_name: text('Name', 'How the meter is called in the configuration', 24),
  quality: text(
    'Quality',
    'The worst of the readings of the day: measured, estimated, substituted, fault (a register fell)',
    12,
  ),
  revision: {
    sql: 'BIGINT',
    title: 'Revision',
    about:
      'How often it was uploaded otherwise, at most; of a meter that is read from a device, the version of the day',
    width: 10,
  },
  kind: text('Kind', "uploaded; derived: from a device's telemetry", 11),
  budget_wh: energy('Budget (Wh)', 'Budget in watt-hours; empty where there is none'),
  scenario: text('Scenario', 'Which budget; several where meters of a site have different ones', 12),
  period_start: day('Period from', 'First day of the period that was budgeted'),
  period_end: day('Period to', 'Its last day, included'),
  period_wh: energy('Period (Wh)', 'Budget of the whole period, which is spread over its days'),
  uploaded_at: {
    sql: 'TIMESTAMPTZ',
    title: 'Uploaded (UTC)',
    about: 'When the budget was uploaded',
    width: 21,
  },
  site: text('Site', 'Name of the site', 18),
  meters_wh: energy(
    'Meters (Wh)',
    'Sum of the meters by their signs; empty on days on which not all members are complete',
  ),
  devices_wh: energy(
    'Devices (Wh)',
    'Sum of the devices by their signs; empty on days on which not all members are complete',
  ),
  difference_wh: energy('Difference (Wh)', 'Meters minus devices'),
  difference_percent: percent('Difference (%)', 'Of the meters; empty where they are 0'),
  estimated: { sql: 'BOOLEAN', title: 'Estimated', about: 'Whether an estimate is part of it', width: 11 },
  missing: text('Missing', 'What is missing on a day that is not complete', 60),
  actual_wh: energy(
    'Actual (Wh)',
    'Sum of the meters with a budget, by their signs; empty where one has no energy',
  ),
  variance_wh: energy('Variance (Wh)', 'Actual minus budget; empty where one of them is not known'),
  variance_percent: percent('Variance (%)', 'Of the budget; empty where there is none, or 0'),
  partial: {
    sql: 'BOOLEAN',
    title: 'Partial',
    about: 'Whether readings cover only a part of the day',
    width: 9,
  },
  scope: text('Balance of', 'Name of the site, or id of the workgroup', 18),
  production_wh: energy('Production (Wh)', 'Generated'),
  consumption_wh: energy('Consumption (Wh)', 'Used by loads, without what charges a battery'),
  grid_import_wh: energy('Import (Wh)', 'From the grid'),
  grid_export_wh: energy('Export (Wh)', 'Into the grid'),
  battery_charge_wh: energy('Charge (Wh)', 'Into storage'),
  battery_discharge_wh: energy('Discharge (Wh)', 'Out of storage'),
  grid_net_wh: energy('Net import (Wh)', 'Import minus export'),
  residual_wh: energy('Residual (Wh)', 'What measured roles leave; 0 where one is computed'),
  self_consumption_wh: energy('Self-consumption (Wh)', 'Production minus export'),
  self_supply_wh: energy('Self-supply (Wh)', 'Consumption minus import'),
  grid_to_battery_wh: energy('Grid to battery (Wh)', 'At least this much of the charge came from the grid'),
  battery_to_grid_wh: energy(
    'Battery to grid (Wh)',
    'At least this much of the discharge went into the grid',
  ),
  self_consumption_rate: share('Self-consumption (%)', 'Of the production; 0 to 1 in files for programs'),
  autarky: share('Autarky (%)', 'Self-supply of the consumption; 0 to 1 in files for programs'),
  self_consumption_max_wh: energy('Self-consumption at most (Wh)', 'With the flag shape_unknown'),
  autarky_max: share('Autarky at most (%)', 'With the flag shape_unknown; 0 to 1 in files for programs'),
  specific_yield: {
    sql: 'DOUBLE',
    title: 'Specific yield (kWh/kWp)',
    about: 'Production by peak power, where one is configured',
    width: 14,
    format: '0.000',
  },
  computed: { sql: 'VARCHAR[]', title: 'Computed', about: 'Roles that follow from the others', width: 22 },
} as const satisfies Record<string, ColumnType>;

export type ColumnName = keyof typeof columnTypes;

export function columnType(name: ColumnName): ColumnType {
  return columnTypes[name];
}
