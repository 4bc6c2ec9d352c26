import type { CellState, HeatRow } from '../pictures/heat-marks.ts';
import { flagName, sortFlags, worstRank } from '../words/flag-words.ts';
import { identifierWords } from '../words/identifier-words.ts';
import type { LocalDay } from '../words/local-days.ts';
import { exactEnergy, formatShare } from '../words/number-words.ts';
import { tellingFlags } from './day-quality.ts';
import type { QualityDays, QualityOfDay } from './quality-days.ts';

/**
 * One row for each series, worst first: the series with the most days that are missing, bad or doubtful.
 * @param keys all series that get a row, even if they have no energy in these days
 */
export function qualityRows(
  quality: QualityDays,
  keys: readonly string[],
  facts: { today: LocalDay; nameOf(key: string): string; hrefOf(key: string, day: LocalDay): string },
): HeatRow[] {
  const { days } = quality;
  const { today, nameOf, hrefOf } = facts;
  const rows = keys.map((key) => {
    const values = days.map((_, index) => quality.at(key, index));
    const first = values.findIndex((value) => value !== undefined);
    // A day before the first reading of a new device is not a fault.
    const isBefore = (index: number) => first >= 0 && index < first;
    const states = values.map((value, index): CellState => {
      if (value) return stateOf(value, days[index] === today);
      return days[index]! >= today || isBefore(index) ? 'future' : 'missing';
    });
    const cellAt = (index: number) => {
      const [day, value] = [days[index]!, values[index]];
      if (value) return { words: wordsOf(value, day === today), href: hrefOf(key, day) };
      if (states[index] === 'missing') return { words: 'no data', href: undefined };
      const words = day > today ? 'not begun' : isBefore(index) ? 'before its first data' : 'nothing yet';
      return { words, href: undefined };
    };
    return { key, name: nameOf(key), states, cellAt, weight: weightOf(states) };
  });
  return rows.sort((a, b) => b.weight - a.weight || byName.compare(a.name, b.name));
}

const byName = new Intl.Collator(undefined, { numeric: true });

function stateOf({ flags }: QualityOfDay, isToday: boolean): CellState {
  if (flags.length === 0) return 'good';
  return worstRank(tellingFlags(flags, isToday)) ?? 'good';
}

function wordsOf({ energyWh, flags, coverage, status, methods }: QualityOfDay, isToday: boolean): string {
  return [
    ...(energyWh === undefined ? [] : [energyWh === null ? 'no energy' : exactEnergy(energyWh)]),
    status,
    `${formatShare(coverage)} measured`,
    methods.map(identifierWords).join(' and '),
    ...sortFlags(tellingFlags(flags, isToday)).map(flagName),
  ].join(', ');
}

const weights: Readonly<Record<CellState, number>> = {
  bad: 4,
  missing: 3,
  doubtful: 2,
  noted: 0.01,
  good: 0,
  future: 0,
};

function weightOf(states: readonly CellState[]): number {
  return states.reduce((sum, state) => sum + weights[state], 0);
}
