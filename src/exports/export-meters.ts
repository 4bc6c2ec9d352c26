import type { MeterConfig } from '../config/meters.ts';
import { budgetDays, checkScenario } from '../report/budget-days.ts';
import { type DaysSource, memberDays, memberOf, meterDaysJson } from '../report/meter-days.ts';
import type { DayRange } from '../report/site-report.ts';
import { hasSplits } from '../roles/resolve-roles.ts';
import { loadSql } from '../warehouse/load-sql.ts';
import {
  type ExportedReport,
  type ExportQuery,
  noRows,
  type OpenReport,
  type RowShape,
  withNames,
} from './exported-report.ts';

export const openMeterData: OpenReport = (query, at) => {
  const meters = metersOf(query);
  const { timezone: zone } = query.workgroup;
  const splits = hasSplits(query.workgroup);
  const days = ({ startDay, endDay }: DayRange) =>
    memberDays(at.generation, {
      members: meters.map(memberOf),
      startDay,
      endDay,
      zone,
      ownZone: zone,
      splits,
    });
  const shape: RowShape = {
    columns: [
      ...(['day', 'meter', 'meter_name', 'energy_wh', 'quality', 'flags', 'coverage', 'revision'] as const),
      ...(['kind', 'device', 'source'] as const),
    ],
    order: ['day', 'meter'],
    key: ['meter'],
    energies: ['energy_wh'],
  };
  return reportOf(meters, shape, 'export/select_meter_days', days, at);
};

export const openBudgetData: OpenReport = async (query, at) => {
  const meters = metersOf(query);
  const codes = meters.map(({ code }) => code);
  const { scenario } = query.config;
  await checkScenario(at.lake, at.generation, codes, scenario, at.signal);
  const days = (range: DayRange) => budgetDays(at.generation, { ...range, codes }, scenario);
  const shape: RowShape = {
    columns: [
      ...(['day', 'meter', 'meter_name', 'scenario', 'budget_wh', 'period_start', 'period_end'] as const),
      ...(['period_wh', 'revision', 'uploaded_at'] as const),
    ],
    order: ['day', 'meter'],
    key: ['meter'],
    energies: ['budget_wh'],
  };
  return reportOf(meters, shape, 'export/select_budget_days', days, at);
};

/** @param select makes the rows of "meter_day" */
function reportOf(
  meters: readonly MeterConfig[],
  shape: RowShape,
  select: string,
  days: (range: DayRange) => DaysSource,
  { lake, signal }: Parameters<OpenReport>[1],
): ExportedReport {
  const names = meters.map(({ code, name }) => ({ id: code, name }));
  return {
    rows(range) {
      const { statements } = days(range);
      if (!statements) return noRows(shape);
      const rows = { ...statements, sql: statements.sql + loadSql(select) };
      return { ...shape, reads: statements.reads, ...withNames(rows, 'meter', names) };
    },
    body: (range) => meterDaysJson(lake, days(range), 'report/answer_meters', range, signal),
  };
}

function metersOf({ config, workgroup }: ExportQuery): MeterConfig[] {
  return workgroup.meters.filter(({ code }) => config.meters?.includes(code) ?? true);
}
