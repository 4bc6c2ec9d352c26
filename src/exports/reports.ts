import type { WorkgroupConfig } from '../config.ts';
import type { ExportConfig, ExportReport } from '../export-settings.ts';
import type { LakeFile } from '../publish/commit.ts';
import { dailyEnergy, dailyEnergyDetails } from '../report/daily-energy.ts';
import { chooseDays, type DayQuery, type DayReport, sourceFiles } from '../report/day-report.ts';
import { intervalEnergy } from '../report/interval-energy.ts';
import type { Generation } from '../report/lake.ts';
import type { SqlParameters } from '../warehouse/query.ts';
import { loadSql } from '../warehouse/sql.ts';
import { type ColumnName, columnTypes } from './columns.ts';
import type { ExportPeriod } from './period.ts';

/** What is exported, ready to be asked of one generation. */
export interface ExportQuery {
  report: ExportReport;
  workgroup: WorkgroupConfig;
  period: ExportPeriod;
  day: DayQuery;
}

/** A report as rows. */
export interface RowReport {
  /** In the order in which files have them. */
  columns: readonly ColumnName[];
  /** What the rows are sorted by. */
  order: readonly ColumnName[];
  /** What tells a row from the others of its day. */
  key: readonly ColumnName[];
  /** The body over HTTP that is the same. */
  body: DayReport;
  /** The statement that makes the rows of "chosen" (see report/days). */
  select: string;
}

/** Rows to be read, with the names of their columns. */
export interface RowSelect extends Pick<RowReport, 'columns' | 'order' | 'key'> {
  sql: string;
  parameters: SqlParameters;
}

const quality = ['method', 'flags', 'coverage', 'status', 'version', 'computed_at'] as const;
const interval = ['day', 'interval_start', 'interval_start_local'] as const;
const deviceDays = () =>
  `, device_day AS (\n${loadSql('publish/device-days')})\n${loadSql('export/daily-by-device')}`;
const slots = (name: string) => `, slot AS (\n${loadSql('report/intervals')})\n${loadSql(name)}`;

/** Every report that can be exported. */
const reports: Readonly<Record<ExportReport, (bySource: boolean) => RowReport>> = {
  daily_energy: (bySource) =>
    bySource
      ? {
          columns: ['day', 'device', 'device_name', 'source', 'energy_wh', ...quality],
          order: ['day', 'device', 'source'],
          key: ['device', 'source'],
          body: dailyEnergy,
          select: loadSql('export/daily-by-source'),
        }
      : {
          columns: ['day', 'device', 'device_name', 'energy_wh', ...quality],
          order: ['day', 'device'],
          key: ['device'],
          body: dailyEnergy,
          select: `${deviceDays()} WHERE c.energy_wh IS NOT NULL`,
        },
  device_daily_energy: () => ({
    columns: ['day', 'device', 'device_name', 'energy_wh', ...quality],
    order: ['day', 'device'],
    key: ['device'],
    body: dailyEnergyDetails,
    select: deviceDays(),
  }),
  interval_energy: (bySource) =>
    bySource
      ? {
          columns: [...interval, 'device', 'device_name', 'source', 'energy_wh'],
          order: ['day', 'device', 'source', 'interval_start'],
          key: ['device', 'source', 'interval_start'],
          body: intervalEnergy,
          select: slots('export/intervals-by-source'),
        }
      : {
          columns: [...interval, 'device', 'device_name', 'energy_wh'],
          order: ['day', 'device', 'interval_start'],
          key: ['device', 'interval_start'],
          body: intervalEnergy,
          select: slots('export/intervals-by-device'),
        },
};

export function exportQuery(
  { report, groupBy, devices }: ExportConfig,
  workgroup: WorkgroupConfig,
  period: ExportPeriod,
): ExportQuery {
  const { startDay, endDay } = period;
  const day = {
    startDay,
    endDay,
    zone: workgroup.timezone,
    bySource: groupBy === 'source',
    devices: devices && [...new Set(devices)].sort(),
  };
  return { report, workgroup, period, day };
}

export function reportOf({ report, day }: ExportQuery): RowReport {
  return reports[report](day.bySource);
}

/** The rows of one generation. There are none, and the columns all the same, where it has no files of these days. */
export function selectRows(query: ExportQuery, generation: Generation): RowSelect {
  const { body, select, columns, order, key } = reportOf(query);
  const lists: Record<string, LakeFile[]> = body.files(generation, query.day);
  if (Object.values(lists).some((files) => files.length === 0)) {
    const none = columns.map((name) => `NULL::${columnTypes[name].sql} AS ${name}`).join(', ');
    return { columns, order, key, sql: `SELECT ${none} WHERE false`, parameters: {} };
  }
  const chosen = chooseDays(query.day, sourceFiles(generation, query.day).map(generation.path));
  const parameters: SqlParameters = {
    ...chosen.parameters,
    ...body.parameters?.(query.day),
    named_devices: JSON.stringify(query.workgroup.devices.map(({ id, name }) => ({ id, name }))),
    ...(query.report === 'interval_energy' && { zone: query.day.zone }),
  };
  for (const [name, files] of Object.entries(lists)) parameters[name] = files.map(generation.path);
  return { columns, order, key, sql: chosen.sql + select, parameters };
}
