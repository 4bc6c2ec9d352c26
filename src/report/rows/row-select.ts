import { loadSql } from '../../warehouse/load-sql.ts';
import type { SqlParameters } from '../../warehouse/query.ts';
import type { QueryFiles } from '../lake/lake-reader.ts';
import { type ColumnName, columnType } from './row-columns.ts';

/** The statement that reads a report as rows, and its columns in the order of the file. */
export interface ReportRows {
  columns: readonly ColumnName[];
  /** The sort order of the rows. Empty if they are already sorted. */
  order: readonly ColumnName[];
  /** Undefined if it reads no files. */
  reads: QueryFiles | undefined;
  sql: string;
  parameters: SqlParameters;
}

/** The columns of rows, and how rows of a day differ. */
export interface RowShape extends Pick<ReportRows, 'columns' | 'order'> {
  /** Distinguishes the rows of a day. */
  key: readonly ColumnName[];
  /** Columns in Wh that show if a day has changed. */
  energies: readonly [ColumnName, ...ColumnName[]];
  /** The column in Wh that adds up to the total of a file. Default: the first of `energies`. */
  total?: ColumnName;
}

/** The statement that reads the rows. */
export interface RowSelect extends RowShape, ReportRows {}

/** A statement with the same columns and no rows. */
export function noRows<Shape extends Pick<ReportRows, 'columns' | 'order'>>(shape: Shape) {
  const none = shape.columns.map((name) => `NULL::${columnType(name).sql} AS ${name}`).join(', ');
  return { ...shape, reads: undefined, sql: `SELECT ${none} WHERE false`, parameters: {} };
}

export type ReportRow = Partial<Record<ColumnName, string | number | boolean | null | readonly string[]>>;

/** Rows of this process. A missing value is null. */
export function listedRows<Shape extends Pick<ReportRows, 'columns' | 'order'>>(
  shape: Shape,
  rows: readonly ReportRow[],
) {
  const types = Object.fromEntries(shape.columns.map((name) => [name, columnType(name).sql]));
  return {
    ...shape,
    reads: undefined,
    sql: `SELECT unnest(from_json($rows, '${JSON.stringify([types])}'), recursive := true)`,
    parameters: { rows: JSON.stringify(rows) },
  };
}

/** The rows of a statement, with a column for the configured name. */
export function withNames(
  { sql, parameters }: { sql: string; parameters: SqlParameters },
  column: 'device' | 'meter',
  named: ReadonlyArray<{ id: string; name?: string | undefined }>,
): { sql: string; parameters: SqlParameters } {
  const names = named.filter(({ name }) => name !== undefined);
  // Without names no join is needed, so the rows keep their order.
  if (names.length === 0)
    return { sql: `SELECT *, NULL::VARCHAR AS ${column}_name FROM (\n${sql}\n)`, parameters };
  return {
    sql: `SELECT row.*, name AS ${column}_name FROM (\n${sql}\n) AS row LEFT JOIN (\n${loadSql('rows/select_names')}\n) ON id = row.${column}::VARCHAR`,
    parameters: { ...parameters, names: JSON.stringify(names.map(({ id, name }) => ({ id, name }))) },
  };
}
