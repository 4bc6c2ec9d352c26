import { loadSql } from '../warehouse/load-sql.ts';
import { commonTable, emptyTable } from './balance-sql.ts';

/**
 * The statements of the tables from which the energy of devices follows (see balance/find_device_source and
 * sum_device_day).
 */
interface DeviceDayInputs {
  known_source: string;
  declared_device: string;
  role_span: string;
  /** Days of sources, as `balance/sum_device_day` reads them, without their declarations. */
  chosen: string;
}

/**
 * The energy of devices by day as table "device_day", for the statement after it.
 * @returns text that begins with WITH
 */
export function deviceDaySql(inputs: DeviceDayInputs): string {
  const tables = [
    commonTable('role', loadSql('balance/find_role')),
    ...Object.entries(inputs).map(([name, sql]) => commonTable(name, sql)),
    commonTable('device_source', loadSql('balance/find_device_source')),
    commonTable('source_day', loadSql('balance/find_role_days')),
    commonTable('device_day', loadSql('balance/sum_device_day')),
  ];
  return `WITH ${tables.join(',\n')}\n`;
}

/** An empty "device_source", if no source is known. */
export const noDeviceSources = emptyTable({
  device: 'UUID',
  source: 'VARCHAR',
  valid_from: 'DATE',
  valid_to: 'DATE',
  role: 'VARCHAR',
  negative_role: 'VARCHAR',
  counts: 'BOOLEAN',
  part: 'VARCHAR',
  is_mixed: 'BOOLEAN',
  counting_sources: 'INTEGER',
  lacking_sources: 'INTEGER',
  lacking_max: 'INTEGER',
  lacks_with_energy: 'BOOLEAN',
});

/** An empty "rise_fall", if every source counts as a whole. */
export const noSplits = emptyTable({
  day: 'DATE',
  device: 'UUID',
  source: 'VARCHAR',
  rise_wh: 'BIGINT',
  fall_wh: 'BIGINT',
});

/** The statements that read `rise_fall` from the lake (see balance/sum_rise_fall). */
interface SplitInputs {
  /** The wanted sources and local days. */
  wanted: string;
  /** The local days of the range: day, start_ms, end_ms. */
  own_day: string;
  daily_energy: string;
  interval_energy: string;
  series: string;
}

/** The statement of "rise_fall", with its own tables. */
export function splitSql(inputs: SplitInputs): string {
  const tables = [
    commonTable('rule', loadSql('balance/find_rule')),
    ...Object.entries(inputs).map(([name, sql]) => commonTable(name, sql)),
    commonTable('own_slot', loadSql('balance/find_own_slot')),
    commonTable('read_from', loadSql('balance/find_read_from')),
    commonTable('measured', loadSql('balance/find_measured')),
  ];
  return `WITH ${tables.join(',\n')}\n${loadSql('balance/sum_rise_fall')}`;
}
