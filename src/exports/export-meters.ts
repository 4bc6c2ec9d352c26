import type { MeterConfig } from '../config/meters.ts';
import { budgetDays, checkScenario } from '../report/budget-days.ts';
import { budgetRows, meterRows } from '../report/meter-day-rows.ts';
import { type DaysSource, memberDays, memberOf, meterDaysJson } from '../report/meter-days.ts';
import type { DayRange } from '../report/site-report.ts';
import { hasSplits } from '../roles/resolve-roles.ts';
import type { ExportedReport, ExportQuery, OpenReport } from './exported-report.ts';

export const openMeterData: OpenReport = (query, context) => {
  const meters = metersOf(query);
  const { timezone: zone } = query.workgroup;
  const splits = hasSplits(query.workgroup);
  const days = ({ startDay, endDay }: DayRange) =>
    memberDays(context.generation, {
      members: meters.map(memberOf),
      startDay,
      endDay,
      zone,
      ownZone: zone,
      splits,
    });
  return reportOf(meters, meterRows, days, context);
};

export const openBudgetData: OpenReport = async (query, context) => {
  const meters = metersOf(query);
  const codes = meters.map(({ code }) => code);
  const { scenario } = query.config;
  await checkScenario(context.lake, context.generation, codes, scenario, context.signal);
  const days = (range: DayRange) => budgetDays(context.generation, { ...range, codes }, scenario);
  return reportOf(meters, budgetRows, days, context);
};

function reportOf(
  meters: readonly MeterConfig[],
  rowsOf: typeof meterRows,
  days: (range: DayRange) => DaysSource,
  { lake, signal }: Parameters<OpenReport>[1],
): ExportedReport {
  return {
    rows: (range) => rowsOf(days(range), meters),
    body: (range) => meterDaysJson(lake, days(range), 'report/answer_meters', range, signal),
  };
}

function metersOf({ config, workgroup }: ExportQuery): MeterConfig[] {
  return workgroup.meters.filter(({ code }) => config.meters?.includes(code) ?? true);
}
