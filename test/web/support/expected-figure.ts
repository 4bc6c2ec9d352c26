import type { Balances, DayDetails, DayOfSeries } from '../../../src/web/facts/answers.ts';
import { flagName } from '../../../src/web/words/flag-words.ts';
import { sorted, telling } from './expected-flags.ts';
import { count, energy, exact, longDay, many } from './plain-words.ts';

/** What a picture of bars must show, worked out from the answers of endpoints. */

export type Wh = number | null;

/** As `readPage` writes it: the exact number in braces, or a dash. */
export const amount = (wh: Wh | undefined) => (wh == null ? '–' : `{${wh}}`);
export const row = (...cells: Array<string | undefined>) => cells.map((cell) => cell ?? '').join(' | ');

export function sum(values: ReadonlyArray<Wh | undefined>): Wh {
  const known = values.filter((wh): wh is number => wh != null);
  return known.length === 0 ? null : known.reduce((a, b) => a + b, 0);
}

export interface Column {
  name: string;
  /** One for each entry of the legend. */
  values: Wh[];
  /** What is said of it, the energy first. */
  notes: string[];
  isEmpty?: boolean;
  isMissing?: boolean;
}

export interface Figure {
  label: string;
  wholeName: string;
  /** What all columns have together; undefined for what comes in and goes out, which has no sum. */
  whole?: Wh;
  reference?: [name: string, wh: Wh];
  legend: string[];
  columns: Column[];
}

/** The lines of the picture itself: the readout, the legend and each column. */
export function figureLines({ label, wholeName, whole, reference, legend, columns }: Figure): string[] {
  return [
    `@ ${label}`,
    [
      wholeName,
      whole === undefined ? [] : amount(whole),
      reference ? [reference[0], amount(reference[1])] : [],
    ]
      .flat()
      .join(' '),
    ...legend.map((name, index) => `${name} ${amount(sum(columns.map(({ values }) => values[index])))}`),
    ...columns.map(({ name, notes }) => `@ ${[name, ...notes].join(': ')}`),
  ];
}

/**
 * The table below the picture: its heading, its rows, and the sums.
 * @param sums the sum of a row next to its values, if they have one
 */
export function tableLines(
  columns: readonly Column[],
  legend: readonly string[],
  sums?: (column: Column) => Wh,
): string[] {
  const shown = columns.filter(({ isEmpty }) => !isEmpty);
  const cellsOf = (column: Column) => [...column.values, ...(sums ? [sums(column)] : [])].map(amount);
  const whole = shown[0]!.values.map((_, index) => sum(shown.map(({ values }) => values[index])));
  return [
    row('Period', ...legend, ...(sums ? ['Sum'] : []), 'Quality'),
    ...shown.map((column) =>
      row(
        column.name,
        ...cellsOf(column),
        column.isMissing ? column.notes[0] : column.notes.slice(1).join(', '),
      ),
    ),
    row('Sum', ...whole.map(amount), ...(sums ? [amount(sum(shown.map(sums)))] : []), ''),
  ];
}

/** What the values of a day say about its quality. @param missing sources without any value */
export function qualityNotes(values: readonly DayOfSeries[], isToday: boolean, missing = 0): string[] {
  const flags = [...new Set(values.flatMap((value) => telling(value.flags, isToday)))];
  return [
    ...(values.some(({ status }) => status === 'restated') ? ['restated'] : []),
    ...(values.some(({ status }) => status === 'provisional') ? ['provisional'] : []),
    ...(missing > 0 ? [`no data of ${many(missing, 'source')}`] : []),
    ...sorted(flags).map((flag) => {
      const found = values.filter((value) => value.flags.includes(flag)).length;
      return `${flagName(flag)}${values.length > 1 ? ` (${found} of ${values.length})` : ''}`;
    }),
  ];
}

/** The roles of a balance in the order of the page, those into the site first. */
const roles = [
  ['Production', 'productionWh'],
  ['From battery', 'batteryDischargeWh'],
  ['Grid import', 'gridImportWh'],
  ['Consumption', 'consumptionWh'],
  ['Into battery', 'batteryChargeWh'],
  ['Grid export', 'gridExportWh'],
] as const;
export const roleNames = roles.map(([name]) => name);
type Balance = Balances[string];
export const balanceValues = (balance: Balance | undefined): Wh[] =>
  roles.map(([, key]) => balance?.[key] ?? null);

/** Days of a balance as columns. The site of the tests has all roles. */
export function balanceColumns(
  days: readonly string[],
  balances: Balances,
  details: DayDetails | undefined,
  today: string,
): Column[] {
  return withBeginning(
    days.map((day) => {
      const values = balanceValues(balances[day]);
      const ofDay = Object.values(details?.[day] ?? {});
      const notes = qualityNotes(ofDay, day === today);
      // What comes in.
      const total = sum(values.slice(0, 3));
      const isKnown = values.some((wh) => wh !== null);
      if (!isKnown && day >= today)
        return {
          name: longDay(day),
          values,
          notes: [day === today ? 'nothing yet' : 'has not begun'],
          isEmpty: true,
        };
      if (!isKnown) {
        const words = ofDay.some(({ energyWh }) => energyWh !== null)
          ? 'only a part is measured, so the balance is not known'
          : 'no data';
        return { name: longDay(day), values, notes: [words, ...notes], isMissing: true };
      }
      return {
        name: longDay(day),
        values,
        notes: [
          total === null ? 'only a part is known' : energyNote(total),
          ...(day === today ? ['up to the last quarter of an hour that is known'] : []),
          ...notes,
        ],
      };
    }),
  );
}

export const energyNote = (wh: number) => `${energy(wh)} (${exact(wh)})`;

/** Days of series as columns, without the series of a large answer that have no colour of their own. */
export function seriesColumns(
  days: readonly string[],
  keys: readonly string[],
  details: DayDetails,
  today: string,
): Column[] {
  return withBeginning(
    days.map((day): Column => {
      const values = keys.map((key) => details[day]?.[key]?.energyWh ?? null);
      const ofDay = keys.flatMap((key) => details[day]?.[key] ?? []);
      const total = sum(values);
      const name = longDay(day);
      const missing = values.filter((wh) => wh === null).length;
      if (total === null && day >= today)
        return { name, values, notes: [day === today ? 'nothing yet' : 'has not begun'], isEmpty: true };
      if (total === null)
        return { name, values, notes: ['no data', ...qualityNotes(ofDay, false)], isMissing: true };
      return {
        name,
        values,
        notes: [
          energyNote(total),
          ...(day === today ? ['until now'] : []),
          ...qualityNotes(ofDay, day === today, missing),
        ],
      };
    }),
  );
}

/** Days before the first one with data are no gap. */
export function withBeginning(columns: Column[]): Column[] {
  const first = columns.findIndex(
    ({ isEmpty, isMissing, notes }) => !isEmpty && !(isMissing && notes[0] === 'no data'),
  );
  return columns.map((column, index) =>
    index < first && column.isMissing
      ? { ...column, notes: ['no data, and none before it in this period'], isEmpty: true, isMissing: false }
      : column,
  );
}

/** How many columns are missing, partly known and doubtful, as the sentence before a picture says it. */
export function missingWords(
  columns: readonly Column[],
  today: string,
  doubtful: number,
  one = 'day',
): string {
  const begun = columns.filter(({ isEmpty }) => !isEmpty);
  const todayName = longDay(today);
  const past = begun.filter(({ name }) => name !== todayName);
  const isPart = ({ isMissing, notes, values }: Column) =>
    isMissing ? notes[0] !== 'no data' : values.includes(null);
  const missing = past.filter((column) => column.isMissing && !isPart(column)).length;
  const partly = past.filter(isPart).length;
  const [first] = begun;
  const isTodayPart = begun.some(({ name, values }) => name === todayName && values.includes(null));
  return [
    columns.some(({ notes }) => notes[0]!.endsWith('none before it in this period')) &&
      `The first data are of ${first!.name}.`,
    missing > 0 &&
      `${many(missing, one)} of ${count(begun.length)} ${missing === 1 ? 'has' : 'have'} no data.`,
    partly > 0 && `On ${many(partly, one)} a part is missing.`,
    isTodayPart && 'A part of today is not known yet.',
    doubtful > 0 &&
      `${many(doubtful, one)} ${doubtful === 1 ? 'is' : 'are'} marked: look before you trust ${doubtful === 1 ? 'it' : 'them'}.`,
  ]
    .filter(Boolean)
    .join(' ');
}
