import { commonTable } from '../balance/balance-sql.ts';
import { noDeviceSources, noSplits, splitSql } from '../balance/device-day-sql.ts';
import { loadSql } from '../warehouse/load-sql.ts';
import type { FilesOf } from './lake-view.ts';

/** Days by device from days by source, as in the report. */
export function deviceDays(files: FilesOf): string {
  const sources = files('device_source');
  const intervals = files('interval_energy');
  const splits =
    sources && intervals
      ? splitSql({
          wanted: `SELECT d.device, d.source, d.day AS own_day FROM ${files('daily_energy')} d JOIN device_source s ON s.device = d.device AND s.source = d.source
            AND d.day >= coalesce(s.valid_from, DATE '-infinity') AND d.day <= coalesce(s.valid_to, DATE 'infinity') WHERE s.counts AND s.part <> 'whole'`,
          own_day: `SELECT day, epoch_ms(day_start) AS start_ms, epoch_ms(day_end) AS end_ms FROM ${files('local_day')}`,
          daily_energy: `FROM ${files('daily_energy')}`,
          interval_energy: `FROM ${intervals}`,
          series: `FROM ${files('series')}`,
        })
      : noSplits;
  const tables = [
    commonTable('device_source', sources ? `FROM ${sources}` : noDeviceSources),
    commonTable('rise_fall', splits),
    commonTable(
      'source_day',
      `SELECT d.day, d.day AS reported_day, d.device, d.source, d.energy_wh, r.rise_wh, r.fall_wh, [d.method] AS methods, d.flags, d.coverage, d.status, d.version, d.computed_at
      FROM ${files('daily_energy')} d LEFT JOIN rise_fall r ON r.day = d.day AND r.device = d.device AND r.source = d.source`,
    ),
    commonTable('device_day', loadSql('balance/sum_device_day')),
  ];
  return `(WITH ${tables.join(', ')} SELECT * FROM device_day)`;
}
