import { type BarColumn, type BarSeries, withBeginning } from '../pictures/bar-data.ts';
import type { LocalDay } from '../words/local-days.ts';
import { exactEnergy, formatEnergy, plural } from '../words/number-words.ts';
import { columnsOf, grainOf, type ShownPeriod } from '../words/periods.ts';
import { columnName, columnTick } from '../words/time-words.ts';
import type { Reconciliation, Variance } from './answers.ts';

export const actualSeries: readonly BarSeries[] = [{ key: 'actual', name: 'Actual', tone: '1', side: 1 }];

/**
 * Actual energy in columns, with the budget as the reference of each: by day, or by month for long periods.
 */
export function budgetColumns(variance: Variance, period: ShownPeriod, today: LocalDay): BarColumn[] {
  const grain = grainOf(period) === 'day' ? 'day' : 'month';
  return withBeginning(
    columnsOf(period, grain).map((key) => ({
      key,
      tick: columnTick(key, period.from),
      name: columnName(key),
      ...comparisonOf(variance, key, today),
    })),
  );
}

/** @param key a day or a month */
function comparisonOf(
  { days, months }: Variance,
  key: string,
  today: LocalDay,
): Pick<BarColumn, 'values' | 'reference' | 'state' | 'mark' | 'notes'> {
  const day = days[key];
  const month = months[key];
  const actualWh = day ? day.actualWh : month && month.comparedDays > 0 ? month.actualWh : null;
  const budgetWh = day ? day.budgetWh : (month?.budgetOfAllDaysWh ?? null);
  const leftOut = month ? month.elapsedDays - month.comparedDays : 0;
  // Today is always partial, because it is not over.
  const isInPart = (day?.partial && key !== today) || leftOut > 0;
  const column = {
    values: [actualWh],
    reference: budgetWh,
    mark: isInPart ? ('doubtful' as const) : undefined,
  };
  const notes = [
    ...(budgetWh === null ? ['no budget'] : [`budget ${formatEnergy(budgetWh)}`]),
    ...(day?.partial ? ['only a part of the day is measured'] : []),
    ...(leftOut > 0 ? [`${plural(leftOut, 'day')} left out`] : []),
  ];
  if (actualWh !== null) {
    const energy = `${formatEnergy(actualWh)} (${exactEnergy(actualWh)})`;
    return { ...column, state: key === today ? 'provisional' : 'measured', notes: [energy, ...notes] };
  }
  const hasEnded = key < today.slice(0, key.length);
  return hasEnded
    ? { ...column, state: 'missing', notes: ['no data', ...notes] }
    : { ...column, state: 'future', notes: ['not known yet', ...notes] };
}

/** A day that is left out of a comparison, and why. */
export interface LeftOut {
  day: LocalDay;
  reason: string;
}

/** The days that are over and have no comparison with the budget, or only a part of their energy. */
export function daysLeftOut({ days }: Variance, today: LocalDay): LeftOut[] {
  return Object.entries(days)
    .filter(([day]) => day < today)
    .flatMap(([day, { actualWh, budgetWh, partial }]): LeftOut[] => {
      if (budgetWh === null) return [{ day, reason: 'there is no budget for it' }];
      if (actualWh === null) return [{ day, reason: 'a meter has no energy' }];
      return partial
        ? [{ day, reason: 'only a part of the day is measured; it counts as far as it is' }]
        : [];
    });
}

/**
 * The days that are over and left out of a reconciliation, with what is missing.
 * @param nameOf the name of a device
 */
export function incompleteDays(
  { incompleteDays: days }: Reconciliation,
  today: LocalDay,
  nameOf: (device: string) => string,
): LeftOut[] {
  return Object.entries(days)
    .filter(([day]) => day < today)
    .map(([day, missing]) => ({
      day,
      reason: missing
        .map(({ meter, device, source, reason }) => {
          const name = meter ?? (device && [nameOf(device), source].filter(Boolean).join(' · '));
          return name ? `${name}: ${reason}` : reason;
        })
        .join('; '),
    }));
}

const DAYS_NAMED = 8;

/**
 * The newest days of a list, the newest first, and the number of those before.
 * @param days in order of time
 */
export function newestDays(days: readonly LeftOut[]): { named: LeftOut[]; earlier: number } {
  return { named: days.slice(-DAYS_NAMED).toReversed(), earlier: Math.max(0, days.length - DAYS_NAMED) };
}

export function variancePath(site: string, { from, to }: ShownPeriod): string {
  return `sites/${encodeURIComponent(site)}/variance?startDate=${from}&endDate=${to}`;
}
