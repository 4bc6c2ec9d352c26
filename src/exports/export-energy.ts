import { dailyEnergy, dailyEnergyDetails } from '../report/daily-energy.ts';
import { type DayQuery, type DayReport, dayReportJson } from '../report/day-report.ts';
import { intervalEnergy } from '../report/interval-energy.ts';
import {
  dailyEnergyRows,
  deviceDailyEnergyRows,
  intervalEnergyRows,
  type SelectEnergyRows,
} from '../report/rows/energy-rows.ts';
import type { DayRange } from '../report/site-report.ts';
import { hasSplits } from '../roles/resolve-roles.ts';
import type { ExportQuery, OpenReport } from './exported-report.ts';

export const openDailyEnergy = opener(dailyEnergyRows, dailyEnergy);
export const openDeviceDailyEnergy = opener(deviceDailyEnergyRows, dailyEnergyDetails);
export const openIntervalEnergy = opener(intervalEnergyRows, intervalEnergy);

/** @param report the body of the matching HTTP endpoint */
function opener(select: SelectEnergyRows, report: DayReport): OpenReport {
  return (query, { generation, lake, signal }) => ({
    rows: (range) => select(dayQueryOf(query, range), query.workgroup, generation),
    body: async (range) =>
      (await dayReportJson(report, lake, generation, dayQueryOf(query, range), signal)).parts,
  });
}

function dayQueryOf({ config, workgroup }: ExportQuery, { startDay, endDay }: DayRange): DayQuery {
  return {
    startDay,
    endDay,
    zone: workgroup.timezone,
    bySource: config.groupBy === 'source',
    splits: hasSplits(workgroup),
    devices: config.devices && [...new Set(config.devices)].sort(),
  };
}
