import type { DayDetails, DayOfSeries, DeviceStatuses } from '../../../src/web/facts/answers.ts';
import { flagName } from '../../../src/web/words/flag-words.ts';
import { amount, row } from './expected-figure.ts';
import { isMarked, type State, sorted, stateOf, telling } from './expected-flags.ts';
import { count, exact, longDay, many, percent, period } from './plain-words.ts';

/** What pictures of quality must show, worked out from the answers of endpoints. */

export interface HeatRow {
  name: string;
  states: State[];
  /** Each cell in words. */
  cells: string[];
}

const weights = { bad: 4, missing: 3, doubtful: 2, noted: 0.01, good: 0, future: 0 };
const weightOf = ({ states }: HeatRow) => states.reduce((sum, state) => sum + weights[state], 0);

/** The rows of a heat map, the worst first. */
export function heatRows(
  days: readonly string[],
  keys: readonly string[],
  cellOf: (key: string, day: string) => Partial<DayOfSeries> | undefined,
  { today, nameOf }: { today: string; nameOf(key: string): string },
): HeatRow[] {
  const rows = keys.map((key): HeatRow => {
    const first = days.find((day) => cellOf(key, day) !== undefined) ?? '';
    const cells = days.map((day): [State, string] => {
      const value = cellOf(key, day);
      if (value) {
        const flags = telling(value.flags!, day === today);
        const words = [
          ...(value.energyWh === undefined
            ? []
            : [value.energyWh === null ? 'no energy' : exact(value.energyWh)]),
          value.status!,
          `${percent(value.coverage!)} measured`,
          value.methods!.join(' and ').replaceAll('_', ' '),
          ...sorted(flags).map(flagName),
        ];
        return [stateOf(flags), words.join(', ')];
      }
      if (day > today) return ['future', 'not begun'];
      if (day < first) return ['future', 'before its first data'];
      return day === today ? ['future', 'nothing yet'] : ['missing', 'no data'];
    });
    return {
      name: nameOf(key),
      states: cells.map(([state]) => state),
      cells: cells.map(([, words]) => words),
    };
  });
  const byName = new Intl.Collator('en-GB', { numeric: true });
  return rows.sort((a, b) => weightOf(b) - weightOf(a) || byName.compare(a.name, b.name));
}

/**
 * The lines of a heat map: the names of its rows, and the cell that Tab reaches, which is that of yesterday.
 */
export function heatLines(label: string, days: readonly string[], rows: readonly HeatRow[]): string[] {
  const at = days.length - 2;
  return [
    `@ ${label}`,
    ...rows.map(({ name }) => name),
    `@ ${rows[0]!.name}, ${longDay(days[at]!)}: ${rows[0]!.cells[at]}`,
  ];
}

/** The page of quality by source. */
export function qualityLines(
  days: readonly string[],
  details: DayDetails,
  statuses: DeviceStatuses,
  { today, nameOf }: { today: string; nameOf(key: string): string },
): string[] {
  const keys = [...new Set(days.flatMap((day) => Object.keys(details[day] ?? {})))];
  const silent = Object.keys(statuses).filter((id) => !keys.some((key) => key.startsWith(id)));
  const rows = heatRows(days, [...keys, ...silent], (key, day) => details[day]?.[key], { today, nameOf });
  const states = rows.flatMap((one) => one.states);
  const countOf = (...wanted: State[]) => states.filter((state) => wanted.includes(state)).length;
  const known = states.length - countOf('future');
  const [from, to] = [days[0]!, days.at(-1)!];
  const words = (number: number, one: string, others: string) =>
    number > 0 ? `${count(number)} ${number === 1 ? one : others} ` : '';
  return [
    period(from, to),
    `{${countOf('good', 'noted') / known}} of ${many(known, 'source day')} can be trusted without a look. ${words(
      countOf('missing'),
      'has no data.',
      'have no data.',
    )}${words(countOf('doubtful'), 'is partly a guess.', 'are partly a guess.')}${words(
      countOf('bad'),
      'is not to be trusted.',
      'are not to be trusted.',
    )}Rows with the most trouble come first.`,
    ...heatLines(`Quality of days, ${period(from, to)}`, days, rows),
    ...days
      .filter((day) => day < today)
      .flatMap((day) =>
        keys.flatMap((key) => {
          const value = details[day]?.[key];
          if (!value || !isMarked(value.flags)) return [];
          return row(
            longDay(day),
            nameOf(key),
            amount(value.energyWh),
            `{${value.coverage}}`,
            sorted(value.flags).map(flagName).join(''),
            value.methods.join(', ').replaceAll('_', ' '),
            value.status,
          );
        }),
      ),
  ];
}
