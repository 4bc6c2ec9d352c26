import type { WorkgroupConfig } from '../../config/config.ts';
import type { LakeFile } from '../../publish/commit-schema.ts';
import { loadSql } from '../../warehouse/load-sql.ts';
import type { SqlParameters } from '../../warehouse/query.ts';
import { dailyEnergy, type EnergyPeriod, periodEnergy } from '../daily-energy.ts';
import { chooseDays, type DayQuery, type DayReport, shownDays } from '../day-report.ts';
import { intervalEnergy } from '../interval-energy.ts';
import type { Generation } from '../lake/lake-reader.ts';
import { noRows, type RowSelect, type RowShape, withNames } from './row-select.ts';

/** Energy as rows. */
interface EnergyRows extends Omit<RowShape, 'energies'> {
  /** The report that answers in JSON. It reads the same files. */
  report: DayReport;
  /** The statement for the rows of "chosen" (see report/select_days). */
  select: string;
  /** True if rows have local times. */
  hasLocalTime?: boolean;
  /** True if rows keep the order of the files, which are sorted. */
  inFileOrder?: boolean;
}

/** Reads a report about energy as rows, with the configured names of devices. */
export type SelectEnergyRows = (
  query: DayQuery,
  named: Pick<WorkgroupConfig, 'devices'>,
  generation: Generation | undefined,
) => RowSelect;

const quality = ['method', 'flags', 'coverage', 'status', 'version', 'computed_at'] as const;
const interval = ['day', 'interval_start', 'interval_start_local'] as const;
const deviceDays = () => loadSql('rows/select_days_by_device');
const slots = (name: string) => `, slot AS (\n${loadSql('report/select_intervals')})\n${loadSql(name)}`;

/** Days with energy, by device or by source, with their quality. */
export const dailyEnergyRows = selector(({ bySource }) =>
  bySource
    ? {
        columns: ['day', 'device', 'device_name', 'source', 'energy_wh', ...quality],
        order: ['day', 'device', 'source'],
        key: ['device', 'source'],
        report: dailyEnergy,
        select: loadSql('rows/select_days_by_source'),
        inFileOrder: true,
      }
    : { ...deviceDayRows(), select: `${deviceDays()} WHERE energy_wh IS NOT NULL` },
);

/** Days by device, also without energy that counts. */
export const deviceDailyEnergyRows = selector(deviceDayRows);

export const intervalEnergyRows = selector(({ bySource }) =>
  bySource
    ? {
        columns: [...interval, 'device', 'device_name', 'source', 'energy_wh'],
        order: ['day', 'device', 'source', 'interval_start'],
        key: ['device', 'source', 'interval_start'],
        report: intervalEnergy,
        select: slots('rows/select_intervals_by_source'),
        hasLocalTime: true,
      }
    : {
        columns: [...interval, 'device', 'device_name', 'energy_wh'],
        order: ['day', 'device', 'interval_start'],
        key: ['device', 'interval_start'],
        report: intervalEnergy,
        select: slots('rows/select_intervals_by_device'),
        hasLocalTime: true,
      },
);

/** Months or years with energy, with the number of days that have it. */
export const periodEnergyRows = (period: EnergyPeriod) =>
  selector(({ bySource }) => {
    const source = bySource ? (['source'] as const) : [];
    return {
      columns: ['period', 'device', 'device_name', ...source, 'energy_wh', 'days'],
      order: ['period', 'device', ...source],
      key: ['period', 'device', ...source],
      report: periodEnergy(period),
      select: loadSql(bySource ? 'rows/sum_periods_by_source' : 'rows/sum_periods_by_device'),
    };
  });

function deviceDayRows(): EnergyRows {
  return {
    columns: ['day', 'device', 'device_name', 'energy_wh', ...quality],
    order: ['day', 'device'],
    key: ['device'],
    report: dailyEnergy,
    select: deviceDays(),
  };
}

function selector(rowsOf: (query: DayQuery) => EnergyRows): SelectEnergyRows {
  return (query, { devices }, generation) => {
    const { columns, order, key, report, select, hasLocalTime, inFileOrder } = rowsOf(query);
    const shape: RowShape = { columns, order, key, energies: ['energy_wh'] };
    if (!generation || query.devices?.length === 0) return noRows(shape);
    const lists: Record<string, LakeFile[]> = report.files(generation, query);
    if (Object.values(lists).some((files) => files.length === 0)) return noRows(shape);
    const chosen = chooseDays(query, generation);
    const parameters: SqlParameters = {
      ...chosen.parameters,
      ...report.parameters?.(query),
      ...(hasLocalTime && { zone: shownDays(query).zone }),
    };
    for (const [name, files] of Object.entries(lists))
      parameters[name] = files.toSorted((a, b) => (a.period < b.period ? -1 : 1)).map(generation.path);
    const rows = withNames({ sql: chosen.sql + select, parameters }, 'device', devices);
    // Choosing or naming devices needs a join, and a join changes the order of rows.
    const isJoined = query.devices !== undefined || 'names' in rows.parameters;
    const reads = { generation, files: [...Object.values(lists).flat(), ...chosen.files] };
    return { ...shape, reads, ...rows, order: inFileOrder && !isJoined ? [] : order };
  };
}
