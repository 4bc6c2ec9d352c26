/** What a picture of stacked bars shows. */

export interface BarSeries {
  key: string;
  name: string;
  /** The colour: a role, or a place in the row of colours. */
  tone: string;
  /** 1: above the axis, -1: below it. */
  side: 1 | -1;
}

/** How sure a column is. `future`: not begun. */
export type ColumnState = 'measured' | 'provisional' | 'missing' | 'future';
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
  mark?: ColumnMark | undefined;
  /** In words, for the line above the picture and for screen readers. */
  notes: readonly string[];
  /** The same column of another period; null if it has no energy. */
  reference?: number | null | undefined;
}

export interface Bar {
  series: BarSeries;
  from: number;
  to: number;
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

/** The energy of a column on the upper side, or on the lower one if there is no other. Null if nothing is known. */
export function totalOf(column: Pick<BarColumn, 'values'>, series: readonly BarSeries[]): number | null {
  const hasUpper = series.some(({ side }) => side === 1);
  const values = column.values.filter(
    (value, index): value is number => value !== null && (series[index]!.side === 1 || !hasUpper),
  );
  return values.length === 0 ? null : values.reduce((sum, value) => sum + value, 0);
}
