import type { Cell, HeatRow } from '../pictures/heat-map.tsx';
import { sortFlags, worstRank } from '../words/flag-words.ts';
import type { LocalDay } from '../words/local-days.ts';
import { exactEnergy, formatShare } from '../words/number-words.ts';
import type { DayDetails, DayOfSeries } from './answers.ts';

/**
 * One row for each series, worst first: the series with the most days that are missing, bad or doubtful.
 * @param keys all series that have a row, also those without energy in these days
 */
export function qualityRows(
  details: DayDetails,
  keys: readonly string[],
  days: readonly LocalDay[],
  facts: { today: LocalDay; nameOf(key: string): string; hrefOf(key: string, day: LocalDay): string },
): HeatRow[] {
  const { today, nameOf, hrefOf } = facts;
  const rows = keys.map((key) => {
    const firstDay = days.find((day) => details[day]?.[key] !== undefined);
    const cells = days.map((day): Cell => {
      const value = details[day]?.[key];
      if (!value) {
        // A day before the first reading of a new device is no fault.
        const isBefore = firstDay !== undefined && day < firstDay;
        return day >= today || isBefore
          ? {
              state: 'future',
              words: day > today ? 'not begun' : isBefore ? 'before its first data' : 'nothing yet',
              href: undefined,
            }
          : { state: 'missing', words: 'no data', href: undefined };
      }
      return { state: stateOf(value, day === today), words: wordsOf(value), href: hrefOf(key, day) };
    });
    return { key, name: nameOf(key), cells };
  });
  return rows.sort(
    (a, b) => weightOf(b) - weightOf(a) || a.name.localeCompare(b.name, undefined, { numeric: true }),
  );
}

function stateOf({ flags }: DayOfSeries, isToday: boolean): Cell['state'] {
  // Today is partial by its nature.
  const counted = isToday ? flags.filter((flag) => flag !== 'partial' && flag !== 'estimated') : flags;
  return worstRank(counted) ?? 'good';
}

function wordsOf({ energyWh, flags, coverage, status, methods }: DayOfSeries): string {
  return [
    energyWh === null ? 'no energy' : exactEnergy(energyWh),
    status,
    `${formatShare(coverage)} measured`,
    methods.join(' and ').replaceAll('_', ' '),
    ...sortFlags(flags).map((flag) => flag.replace('_', ' ')),
  ].join(', ');
}

const weights: Readonly<Record<Cell['state'], number>> = {
  bad: 4,
  missing: 3,
  doubtful: 2,
  noted: 0.01,
  good: 0,
  future: 0,
};

function weightOf({ cells }: HeatRow): number {
  return cells.reduce((sum, { state }) => sum + weights[state], 0);
}
