import { commonTable } from '../balance/balance-sql.ts';
import { noDeviceSources, noSplits, splitSql } from '../balance/device-day-sql.ts';
import { loadSql } from '../warehouse/load-sql.ts';
import type { FilesOf } from './lake-view.ts';

/** Days by device from days by source, as in the report. */
export function deviceDays(files: FilesOf): string {
  const days = `FROM ${files('daily_energy')}`;
  const sources = files('device_source');
  const intervals = files('interval_energy');
  // Each statement has its own table "chosen", because DuckDB passes the filters of a query only to a table
  // that is read once.
  const withRoleDays = (statement: string) =>
    `WITH ${commonTable('chosen', days)},\n${commonTable('role_day', loadSql('balance/find_role_days'))}\n${loadSql(statement)}`;
  const splits =
    sources && intervals
      ? splitSql({
          wanted: withRoleDays('report/select_split_days'),
          own_day: `WITH ${commonTable('local_day', `FROM ${files('local_day')}`)}\n${loadSql('publish/find_own_day')}`,
          daily_energy: days,
          interval_energy: `FROM ${intervals}`,
          series: `FROM ${files('series')}`,
        })
      : noSplits;
  const tables = [
    commonTable('device_source', sources ? `FROM ${sources}` : noDeviceSources),
    commonTable('rise_fall', splits),
    commonTable('source_day', withRoleDays('report/select_source_day')),
    commonTable('device_day', loadSql('balance/sum_device_day')),
  ];
  return `(WITH ${tables.join(',\n')}\nSELECT * FROM device_day)`;
}
