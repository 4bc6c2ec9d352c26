import { type BarColumn, type BarSeries, isEmpty, isTwoSided, totalOf } from '../pictures/bar-data.ts';
import { energyUnit, type Unit } from '../words/number-words.ts';
import type { EnergyColumns } from './energy-columns.ts';
import { sumOfKnown } from './sum-of-known.ts';

/** The columns of a picture as the rows of a table. */
interface ColumnRows {
  /** Those that have begun. */
  rows: BarColumn[];
  /** The unit of all values. */
  unit: Unit;
  /** The sum of each series. */
  sums: Array<number | null>;
  /** The sum of all; undefined if there is one series, or energy that comes in and energy that goes out. */
  whole: number | null | undefined;
}

export function rowsOfColumns({ series, columns }: EnergyColumns): ColumnRows {
  const rows = columns.filter((column) => !isEmpty(column));
  const isAddedUp = series.length > 1 && !isTwoSided(series);
  return {
    rows,
    unit: energyUnit(Math.max(0, ...rows.flatMap(({ values }) => values.map((wh) => Math.abs(wh ?? 0))))),
    sums: series.map((_, index) => sumOfKnown(rows.map(({ values }) => values[index]))),
    whole: isAddedUp ? sumOfKnown(rows.map((row) => totalOf(row, series))) : undefined,
  };
}

/** The unit of a sum. It is not smaller than the unit of the values above it. */
export function unitOfSum(wh: number | null, unit: Unit): Unit {
  return wh !== null && Math.abs(wh) >= unit.size ? energyUnit(wh) : unit;
}

/** What is said about a row beside its energy. */
export function qualityOfRow({ notes, state }: BarColumn): string {
  return state === 'missing' ? notes[0]! : notes.slice(1).join(', ');
}

/** The rows as a file with whole Wh. */
export function fileOfRows(series: readonly BarSeries[]) {
  return {
    heading: ['period', ...series.map(({ name }) => `${name} (Wh)`), 'quality'],
    row: ({ key, values, notes }: BarColumn) => [key, ...values, notes.slice(1).join('; ')],
  };
}
