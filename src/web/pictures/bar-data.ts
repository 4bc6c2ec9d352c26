import { sumOfKnown } from '../facts/sum-of-known.ts';

/** What a picture of stacked bars shows. */

export interface BarSeries {
  key: string;
  name: string;
  /** The colour: a role, or a place in the row of colours. */
  tone: string;
  /** 1: above the axis, -1: below it. */
  side: 1 | -1;
}

/** How sure a column is. `before`: before the first data of the picture; `future`: not begun. */
type ColumnState = 'measured' | 'provisional' | 'missing' | 'before' | 'future';
export type ColumnMark = 'bad' | 'doubtful' | 'noted' | 'restated';

export interface BarColumn {
  key: string;
  /** The label of the axis. */
  tick: string;
  name: string;
  /** Where a click leads. */
  href?: string | undefined;
  /** For each series Wh, or null if it is not known. */
  values: ReadonlyArray<number | null>;
  state: ColumnState;
  /** True if the column is missing, but some of its sources have energy. */
  isPart?: boolean;
  mark?: ColumnMark | undefined;
  /** True if it is over and has the energy of all of its days, so that it can be compared. */
  isWhole?: boolean;
  /** In words, for the line above the picture and for screen readers. */
  notes: readonly string[];
  /** The same column of another period; null if it has no energy. */
  reference?: number | null | undefined;
}

interface Bar {
  series: BarSeries;
  from: number;
  to: number;
}

/** Columns before the first one with data are not a gap: the devices may not have been there. */
export function withBeginning(columns: readonly BarColumn[]): BarColumn[] {
  // A column with a mark has readings, even if it has no sum.
  const first = columns.findIndex(
    ({ values, mark, isPart }) => mark !== undefined || isPart || values.some((wh) => wh !== null),
  );
  return columns.map((column, index) =>
    index < first && column.state === 'missing'
      ? { ...column, state: 'before', notes: ['no data, and none before it in this period'] }
      : column,
  );
}

/** True for a column that has no bar, and is not a gap either. */
export function isEmpty({ state }: BarColumn): boolean {
  return state === 'before' || state === 'future';
}

/** True for a column with bars of which some are not known. */
export function isKnownInPart(column: BarColumn): boolean {
  return column.state !== 'missing' && !isEmpty(column) && column.values.includes(null);
}

/** The bars of a column from the axis outwards. Negative energy stands on the other side. */
export function stack(column: BarColumn, series: readonly BarSeries[]): Bar[] {
  const ends = { 1: 0, '-1': 0 };
  return series.flatMap((one, index) => {
    const value = column.values[index];
    if (!value) return [];
    const signed = value * one.side;
    const side = signed > 0 ? 1 : -1;
    const from = ends[side];
    ends[side] += signed;
    return [{ series: one, from, to: ends[side] }];
  });
}

/**
 * The energy of a column above the axis. If no series is above the axis, it is the energy below the axis.
 * Null if nothing is known.
 */
export function totalOf(column: Pick<BarColumn, 'values'>, series: readonly BarSeries[]): number | null {
  const hasUpper = series.some(({ side }) => side === 1);
  return sumOfKnown(column.values.filter((_, index) => series[index]!.side === 1 || !hasUpper));
}

/**
 * The value that is compared with another period. For a column with one side it is the sum. A column with two
 * sides has no sum, because energy comes in on one side and goes out on the other. So it is the value of the
 * first series there, which is the production if there is any.
 */
export function comparableOf(column: Pick<BarColumn, 'values'>, series: readonly BarSeries[]): number | null {
  return isTwoSided(series) ? (column.values[0] ?? null) : totalOf(column, series);
}

/** The name of what is compared, such as "Production, "; empty for the sum. */
export function comparableName(series: readonly BarSeries[]): string {
  return isTwoSided(series) ? `${series[0]!.name}, ` : '';
}

export function isTwoSided(series: readonly BarSeries[]): boolean {
  return series.some(({ side }) => side !== series[0]!.side);
}
