import type { Reconciliation } from './reconciliation.ts';
import type { ReportRow, RowShape } from './rows/row-select.ts';
import { type DayRange, daysOfRange } from './site-report.ts';
import type { Variance } from './variance.ts';

export const reconciliationShape: RowShape = {
  columns: [
    ...(['day', 'site', 'meters_wh', 'devices_wh', 'difference_wh', 'difference_percent'] as const),
    ...(['estimated', 'missing'] as const),
  ],
  order: ['day'],
  key: ['site'],
  energies: ['difference_wh', 'meters_wh', 'devices_wh'],
  total: 'meters_wh',
};

export const varianceShape: RowShape = {
  columns: [
    ...(['day', 'site', 'scenario', 'actual_wh', 'budget_wh', 'variance_wh', 'variance_percent'] as const),
    'partial',
  ],
  order: ['day'],
  key: ['site'],
  energies: ['variance_wh', 'actual_wh', 'budget_wh'],
  total: 'actual_wh',
};

/** A row for each day of the range. */
export function rowsOfReconciliation(
  { site, days, incompleteDays }: Reconciliation,
  range: DayRange,
): ReportRow[] {
  return daysOfRange(range).map((day): ReportRow => {
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

/** A row for each day. */
export function rowsOfVariance({ site, days }: Variance): ReportRow[] {
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
