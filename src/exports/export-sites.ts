import type { SiteConfig } from '../config/meters.ts';
import { addDays } from '../lib/time.ts';
import type { Reconciliation } from '../report/reconciliation.ts';
import {
  type DayRange,
  daysOfRange,
  type SiteReport,
  siteReconciliation,
  siteVariance,
} from '../report/site-report.ts';
import type { Variance } from '../report/variance.ts';
import { type ColumnName, columnType } from './export-columns.ts';
import type { ExportedReport, ExportQuery, OpenReport, RowShape } from './exported-report.ts';

const reconciliationShape: RowShape = {
  columns: [
    ...(['day', 'site', 'meters_wh', 'devices_wh', 'difference_wh', 'difference_percent'] as const),
    ...(['estimated', 'missing'] as const),
  ],
  order: ['day'],
  key: ['site'],
  energies: ['difference_wh', 'meters_wh', 'devices_wh'],
};

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

const varianceShape: RowShape = {
  columns: [
    ...(['day', 'site', 'scenario', 'actual_wh', 'budget_wh', 'variance_wh', 'variance_percent'] as const),
    'partial',
  ],
  order: ['day'],
  key: ['site'],
  energies: ['variance_wh', 'actual_wh', 'budget_wh'],
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

type Row = Partial<Record<ColumnName, string | number | boolean | null>>;

function rowsOfReconciliation({ site, days, incompleteDays }: Reconciliation, range: DayRange): Row[] {
  return daysOfRange(range).map((day): Row => {
    const complete = days[day];
    if (!complete) {
      const missing = incompleteDays[day]!.map(({ meter, device, source, reason }) => {
        const member = [meter ?? device, source].filter(Boolean).join(' ');
        return member ? `${member}: ${reason}` : reason;
      });
      return { day, site, missing: missing.join('; ') };
    }
    return {
      day,
      site,
      meters_wh: complete.metersWh,
      devices_wh: complete.devicesWh,
      difference_wh: complete.differenceWh,
      difference_percent: complete.differencePercent,
      estimated: complete.estimated,
    };
  });
}

function rowsOfVariance({ site, days }: Variance): Row[] {
  return Object.entries(days).map(([day, value]) => ({
    day,
    site,
    scenario: value.scenarios.join(', ') || null,
    actual_wh: value.actualWh,
    budget_wh: value.budgetWh,
    variance_wh: value.varianceWh,
    variance_percent: value.variancePercent,
    partial: value.partial,
  }));
}

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
  return `${wh(actualWh)}, budget ${wh(budgetWh)}, variance ${wh(varianceWh)}${percent(variancePercent)}, of ${comparedDays} of ${days} days`;
}

const wh = (value: number) => `${value.toLocaleString('en')} Wh`;
const percent = (value: number | null) => (value === null ? '' : ` (${value} %)`);

function reportOf<Answer>(
  read: Awaited<ReturnType<SiteReport<Answer>['read']>>,
  shape: RowShape,
  rowsOf: (answer: Answer, range: DayRange) => Row[],
  sumsOf: (answer: Answer) => Array<[string, string]>,
): ExportedReport {
  const types = Object.fromEntries(shape.columns.map((name) => [name, columnType(name).sql]));
  return {
    rows: (range) => ({
      ...shape,
      reads: undefined,
      sql: `SELECT unnest(from_json($rows, '${JSON.stringify([types])}'), recursive := true)`,
      parameters: { rows: JSON.stringify(rowsOf(read(range), range)) },
    }),
    body: async (range) => [Buffer.from(JSON.stringify(read(range)))],
    sums: (range) => sumsOf(read(range)),
  };
}

function questionOf({ config, workgroup, period }: ExportQuery) {
  const site: SiteConfig = workgroup.sites.find(({ name }) => name === config.site)!;
  const { startDay, endDay } = period;
  return { workgroup, site, startDay, endDay, zone: workgroup.timezone };
}
