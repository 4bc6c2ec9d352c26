import type { SiteConfig } from '../config/meters.ts';
import { formatCount, formatCountOf } from '../lib/format-count.ts';
import { addDays } from '../lib/time.ts';
import { listedRows, type ReportRow, type RowShape } from '../report/rows/row-select.ts';
import { type DayRange, type SiteReport, siteReconciliation, siteVariance } from '../report/site-report.ts';
import {
  reconciliationShape,
  rowsOfReconciliation,
  rowsOfVariance,
  varianceShape,
} from '../report/site-rows.ts';
import type { Variance } from '../report/variance.ts';
import type { ExportedReport, ExportQuery, OpenReport } from './exported-report.ts';

export const openReconciliation: OpenReport = async (query, { generation, lake, signal }) => {
  const report = siteReconciliation({ ...questionOf(query), generation });
  const read = await report.read(lake, signal);
  return reportOf(read, reconciliationShape, rowsOfReconciliation, ({ total }) => [
    ['Days', `${total.completeDays} complete of ${total.days}`],
    ['Meters', wh(total.metersWh)],
    ['Devices', wh(total.devicesWh)],
    ['Difference', `${wh(total.differenceWh)}${percent(total.differencePercent)}`],
  ]);
};

export const openVariance: OpenReport = async (query, { generation, lake, signal }) => {
  const { scenario } = query.config;
  // The days of an export have ended.
  const today = addDays(query.period.endDay, 1);
  const report = siteVariance({ ...questionOf(query), generation }, { scenario, today });
  const read = await report.read(lake, signal);
  const opened = reportOf(
    read,
    varianceShape,
    rowsOfVariance,
    ({ months, total, scenarios, metersWithoutBudget }) => [
      ...monthsOf(months).map(([month, sum]): [string, string] => [month, varianceInWords(sum)]),
      ['In all', varianceInWords(total)],
      ['Scenarios', scenariosInWords(scenarios)],
      ['Meters without a budget (left out)', metersWithoutBudget.join(', ') || 'none'],
    ],
  );
  return { ...opened, dependsOnRange: true };
};

function scenariosInWords(scenarios: Variance['scenarios']): string {
  return Object.entries(scenarios)
    .map(([meter, names]) => `${meter}: ${names.join(', ')}`)
    .join('; ');
}

function monthsOf(months: Variance['months']) {
  const list = Object.entries(months);
  return list.length > 1 ? list : [];
}

function varianceInWords({
  comparedDays,
  days,
  actualWh,
  budgetWh,
  varianceWh,
  variancePercent,
}: Variance['total']) {
  if (varianceWh === null) return 'no comparison possible';
  return `${wh(actualWh)}, budget ${wh(budgetWh)}, variance ${wh(varianceWh)}${percent(variancePercent)}, of ${comparedDays} of ${formatCountOf(days, 'day')}`;
}

const wh = (value: number) => `${formatCount(value)} Wh`;
const percent = (value: number | null) => (value === null ? '' : ` (${value} %)`);

function reportOf<Answer>(
  read: Awaited<ReturnType<SiteReport<Answer>['read']>>,
  shape: RowShape,
  rowsOf: (answer: Answer, range: DayRange) => ReportRow[],
  sumsOf: (answer: Answer) => Array<[string, string]>,
): ExportedReport {
  return {
    rows: (range) => listedRows(shape, rowsOf(read(range), range)),
    body: async (range) => [Buffer.from(JSON.stringify(read(range)))],
    sums: (range) => sumsOf(read(range)),
  };
}

function questionOf({ config, workgroup, period }: ExportQuery) {
  const site: SiteConfig = workgroup.sites.find(({ name }) => name === config.site)!;
  const { startDay, endDay } = period;
  return { workgroup, site, startDay, endDay, zone: workgroup.timezone };
}
