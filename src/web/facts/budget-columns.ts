import { type BarColumn, type BarSeries, withBeginning } from '../pictures/bar-data.ts';
import type { LocalDay } from '../words/local-days.ts';
import { exactEnergy, formatEnergy, plural } from '../words/number-words.ts';
import { columnsOf, grainOf, type ShownPeriod } from '../words/periods.ts';
import { columnName, dayTick, monthTick } from '../words/time-words.ts';
import type { Reconciliation, Variance } from './answers.ts';

export const actualSeries: readonly BarSeries[] = [{ key: 'actual', name: 'Actual', tone: '1', side: 1 }];

/**
 * Actual energy in columns, with the budget as the reference of each: by day, or by month for long periods.
 */
export function budgetColumns(variance: Variance, period: ShownPeriod, today: LocalDay): BarColumn[] {
  const grain = grainOf(period) === 'day' ? 'day' : 'month';
  return withBeginning(
    columnsOf(period, grain).map((key): BarColumn => {
      const day = variance.days[key];
      const month = variance.months[key];
      const actualWh = day ? day.actualWh : month && month.comparedDays > 0 ? month.actualWh : null;
      const budgetWh = day ? day.budgetWh : (month?.budgetOfAllDaysWh ?? null);
      const isFuture = key >= today.slice(0, key.length) && actualWh === null;
      const short = month ? month.elapsedDays - month.comparedDays : 0;
      return {
        key,
        tick: grain === 'month' ? monthTick(key, period.from.slice(0, 7)) : dayTick(key, period.from),
        name: columnName(key),
        values: [actualWh],
        reference: budgetWh,
        state:
          actualWh !== null ? (key === today ? 'provisional' : 'measured') : isFuture ? 'future' : 'missing',
        // Today is always partial, because it is not over.
        mark: (day?.partial && key !== today) || short > 0 ? 'doubtful' : undefined,
        notes: [
          actualWh === null
            ? isFuture
              ? 'not known yet'
              : 'no data'
            : `${formatEnergy(actualWh)} (${exactEnergy(actualWh)})`,
          ...(budgetWh === null ? ['no budget'] : [`budget ${formatEnergy(budgetWh)}`]),
          ...(day?.partial ? ['only a part of the day is measured'] : []),
          ...(short > 0 ? [`${plural(short, 'day')} left out`] : []),
        ],
      };
    }),
  );
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

export function variancePath(site: string, { from, to }: ShownPeriod): string {
  return `sites/${encodeURIComponent(site)}/variance?startDate=${from}&endDate=${to}`;
}
