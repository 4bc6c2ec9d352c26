/** The columns of exported files: what each holds, its unit, and how formats show it. */
export interface ColumnType {
  /** As DuckDB has it. */
  sql: 'DATE' | 'TIMESTAMPTZ' | 'TIMESTAMP' | 'UUID' | 'VARCHAR' | 'VARCHAR[]' | 'BIGINT' | 'DOUBLE';
  /** Above the column, where people read it. */
  title: string;
  about: string;
  /** Of a sheet, in characters. */
  width: number;
}

export type ColumnName =
  | 'day'
  | 'interval_start'
  | 'interval_start_local'
  | 'device'
  | 'device_name'
  | 'source'
  | 'energy_wh'
  | 'method'
  | 'flags'
  | 'coverage'
  | 'status'
  | 'version'
  | 'computed_at';

export const columnTypes: Readonly<Record<ColumnName, ColumnType>> = {
  day: { sql: 'DATE', title: 'Day', about: "Day in the workgroup's time zone", width: 11 },
  interval_start: {
    sql: 'TIMESTAMPTZ',
    title: 'Interval start (UTC)',
    about: 'Where the 15 minutes begin, in UTC',
    width: 20,
  },
  interval_start_local: {
    sql: 'TIMESTAMP',
    title: 'Interval start (local)',
    about: "The same as a clock in the workgroup's time zone shows it; twice where that is set back",
    width: 20,
  },
  device: { sql: 'UUID', title: 'Device', about: 'Id of the device', width: 38 },
  device_name: {
    sql: 'VARCHAR',
    title: 'Name',
    about: 'How the device is called in the configuration',
    width: 18,
  },
  source: { sql: 'VARCHAR', title: 'Source', about: 'Part of the device that was measured', width: 14 },
  energy_wh: {
    sql: 'BIGINT',
    title: 'Energy (Wh)',
    about: 'Energy in watt-hours; empty where nothing that was measured tells it',
    width: 14,
  },
  method: { sql: 'VARCHAR', title: 'Method', about: 'How the energy was read', width: 14 },
  flags: { sql: 'VARCHAR[]', title: 'Flags', about: 'What is to be known of the quality', width: 20 },
  coverage: {
    sql: 'DOUBLE',
    title: 'Coverage (%)',
    about: 'Share of the day that measurements cover; 0 to 1 in files for programs',
    width: 14,
  },
  status: {
    sql: 'VARCHAR',
    title: 'Status',
    about: 'provisional: may still change; final; restated: has changed since it was final',
    width: 12,
  },
  version: {
    sql: 'BIGINT',
    title: 'Version',
    about: 'Grows each time that the day is restated',
    width: 9,
  },
  computed_at: {
    sql: 'TIMESTAMPTZ',
    title: 'Computed (UTC)',
    about: 'When this version was computed',
    width: 20,
  },
};
