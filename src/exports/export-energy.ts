import type { LakeFile } from '../publish/commit-schema.ts';
import { dailyEnergy, dailyEnergyDetails } from '../report/daily-energy.ts';
import { chooseDays, type DayQuery, type DayReport, dayReportJson } from '../report/day-report.ts';
import { intervalEnergy } from '../report/interval-energy.ts';
import type { Generation } from '../report/lake-reader.ts';
import type { DayRange } from '../report/site-report.ts';
import { hasSplits } from '../roles/resolve-roles.ts';
import { loadSql } from '../warehouse/load-sql.ts';
import type { SqlParameters } from '../warehouse/query.ts';
import {
  type ExportQuery,
  noRows,
  type OpenReport,
  type RowSelect,
  type RowShape,
  withNames,
} from './exported-report.ts';

/** Energy as rows. */
interface EnergyReport extends Omit<RowShape, 'energies'> {
  /** The body of the matching HTTP endpoint. */
  body: DayReport;
  /** The statement for the rows of "chosen" (see report/select_days). */
  select: string;
  /** True if rows have local times. */
  hasLocalTime?: boolean;
  /** True if rows keep the order of the files, which are sorted. */
  inFileOrder?: boolean;
}

const quality = ['method', 'flags', 'coverage', 'status', 'version', 'computed_at'] as const;
const interval = ['day', 'interval_start', 'interval_start_local'] as const;
const deviceDays = () => loadSql('export/select_days_by_device');
const slots = (name: string) => `, slot AS (\n${loadSql('report/select_intervals')})\n${loadSql(name)}`;

export const openDailyEnergy = opener((bySource) =>
  bySource
    ? {
        columns: ['day', 'device', 'device_name', 'source', 'energy_wh', ...quality],
        order: ['day', 'device', 'source'],
        key: ['device', 'source'],
        body: dailyEnergy,
        select: loadSql('export/select_days_by_source'),
        inFileOrder: true,
      }
    : {
        columns: ['day', 'device', 'device_name', 'energy_wh', ...quality],
        order: ['day', 'device'],
        key: ['device'],
        body: dailyEnergy,
        select: `${deviceDays()} WHERE energy_wh IS NOT NULL`,
      },
);

export const openDeviceDailyEnergy = opener(() => ({
  columns: ['day', 'device', 'device_name', 'energy_wh', ...quality],
  order: ['day', 'device'],
  key: ['device'],
  body: dailyEnergyDetails,
  select: deviceDays(),
}));

export const openIntervalEnergy = opener((bySource) =>
  bySource
    ? {
        columns: [...interval, 'device', 'device_name', 'source', 'energy_wh'],
        order: ['day', 'device', 'source', 'interval_start'],
        key: ['device', 'source', 'interval_start'],
        body: intervalEnergy,
        select: slots('export/select_intervals_by_source'),
        hasLocalTime: true,
      }
    : {
        columns: [...interval, 'device', 'device_name', 'energy_wh'],
        order: ['day', 'device', 'interval_start'],
        key: ['device', 'interval_start'],
        body: intervalEnergy,
        select: slots('export/select_intervals_by_device'),
        hasLocalTime: true,
      },
);

function opener(reportOf: (bySource: boolean) => EnergyReport): OpenReport {
  return (query, { generation, lake, signal }) => {
    const report = reportOf(query.config.groupBy === 'source');
    return {
      rows: (range) => selectRows(report, query, dayQuery(query, range), generation),
      body: async (range) =>
        (await dayReportJson(report.body, lake, generation, dayQuery(query, range), signal)).parts,
    };
  };
}

function dayQuery({ config, workgroup }: ExportQuery, { startDay, endDay }: DayRange): DayQuery {
  return {
    startDay,
    endDay,
    zone: workgroup.timezone,
    bySource: config.groupBy === 'source',
    splits: hasSplits(workgroup),
    devices: config.devices && [...new Set(config.devices)].sort(),
  };
}

function selectRows(
  { columns, order, key, body, select, hasLocalTime, inFileOrder }: EnergyReport,
  { workgroup }: ExportQuery,
  day: DayQuery,
  generation: Generation,
): RowSelect {
  const shape: RowShape = { columns, order, key, energies: ['energy_wh'] };
  const lists: Record<string, LakeFile[]> = body.files(generation, day);
  if (Object.values(lists).some((files) => files.length === 0)) return noRows(shape);
  const chosen = chooseDays(day, generation);
  const parameters: SqlParameters = {
    ...chosen.parameters,
    ...body.parameters?.(day),
    ...(hasLocalTime && { zone: day.zone }),
  };
  for (const [name, files] of Object.entries(lists))
    parameters[name] = files.toSorted((a, b) => (a.period < b.period ? -1 : 1)).map(generation.path);
  const rows = withNames({ sql: chosen.sql + select, parameters }, 'device', workgroup.devices);
  // Choosing or naming devices needs a join, and a join changes the order of rows.
  const isJoined = day.devices !== undefined || 'names' in rows.parameters;
  const reads = { generation, files: [...Object.values(lists).flat(), ...chosen.files] };
  return { ...shape, reads, order: inFileOrder && !isJoined ? [] : order, ...rows };
}
