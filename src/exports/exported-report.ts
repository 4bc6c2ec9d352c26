import type { WorkgroupConfig } from '../config/config.ts';
import type { ExportConfig } from '../config/export-settings.ts';
import type { Generation, LakeReader, QueryFiles } from '../report/lake-reader.ts';
import type { DayRange } from '../report/site-report.ts';
import { loadSql } from '../warehouse/load-sql.ts';
import type { SqlParameters } from '../warehouse/query.ts';
import { type ColumnName, columnType } from './export-columns.ts';
import type { ExportPeriod } from './export-period.ts';

/** The question of an export, for days that have ended. */
export interface ExportQuery {
  config: ExportConfig;
  workgroup: WorkgroupConfig;
  period: ExportPeriod;
}

/** The shape of the rows of a report. */
export interface RowShape {
  /** In the order of the file. */
  columns: readonly ColumnName[];
  /** The sort order of the rows. Empty if they are already sorted. */
  order: readonly ColumnName[];
  /** Distinguishes the rows of a day. */
  key: readonly ColumnName[];
  /** Columns in Wh that show if a day has changed. The first one adds up to the total of a day. */
  energies: readonly [ColumnName, ...ColumnName[]];
}

/** The statement that reads the rows. */
export interface RowSelect extends RowShape {
  /** Undefined if it reads no files. */
  reads: QueryFiles | undefined;
  sql: string;
  parameters: SqlParameters;
}

/** A report of one generation, for any of its days. */
export interface ExportedReport {
  rows(range: DayRange): RowSelect;
  /** The body of the matching endpoint, as UTF-8 in parts. */
  body(range: DayRange): Promise<Uint8Array[]>;
  /** The totals over all days, as text. */
  sums?(range: DayRange): Array<[name: string, value: string]>;
  /** True if the values of a day depend on the other days of the question. */
  dependsOnRange?: boolean;
}

export type OpenReport = (
  query: ExportQuery,
  at: { generation: Generation; lake: LakeReader; signal?: AbortSignal | undefined },
) => ExportedReport | Promise<ExportedReport>;

/** No rows, with the same columns. */
export function noRows(shape: RowShape): RowSelect {
  const none = shape.columns.map((name) => `NULL::${columnType(name).sql} AS ${name}`).join(', ');
  return { ...shape, reads: undefined, sql: `SELECT ${none} WHERE false`, parameters: {} };
}

/** The rows of a statement, with a column for the configured name. */
export function withNames(
  { sql, parameters }: { sql: string; parameters: SqlParameters },
  column: 'device' | 'meter',
  named: ReadonlyArray<{ id: string; name?: string | undefined }>,
): { sql: string; parameters: SqlParameters } {
  const names = named.filter(({ name }) => name !== undefined);
  // Without a join the rows keep their order.
  if (names.length === 0)
    return { sql: `SELECT *, NULL::VARCHAR AS ${column}_name FROM (\n${sql}\n)`, parameters };
  return {
    sql: `SELECT row.*, name AS ${column}_name FROM (\n${sql}\n) AS row LEFT JOIN (\n${loadSql('export/select_names')}\n) ON id = row.${column}::VARCHAR`,
    parameters: { ...parameters, names: JSON.stringify(names.map(({ id, name }) => ({ id, name }))) },
  };
}

export function orderBy({ order }: RowShape): string {
  return order.length === 0 ? '' : `ORDER BY ${order.map((name) => `exported.${name}`).join(', ')}`;
}
