import type { WorkgroupConfig } from '../config/config.ts';
import type { ExportConfig } from '../config/export-settings.ts';
import type { Generation, LakeReader } from '../report/lake-reader.ts';
import type { DayRange } from '../report/site-report.ts';
import { loadSql } from '../warehouse/load-sql.ts';
import type { SqlParameters } from '../warehouse/query.ts';
import { type ColumnName, columnType } from './export-columns.ts';
import type { ExportPeriod } from './export-period.ts';

/** What is exported, of days that are over. */
export interface ExportQuery {
  config: ExportConfig;
  workgroup: WorkgroupConfig;
  period: ExportPeriod;
}

/** What the rows of a report are. */
export interface RowShape {
  /** In the order in which files have them. */
  columns: readonly ColumnName[];
  /** What the rows are to be sorted by; nothing where they come in their order. */
  order: readonly ColumnName[];
  /** What tells a row from the others of its day. */
  key: readonly ColumnName[];
  /** Those in Wh that tell whether a day has changed. The first adds up to what a day comes to. */
  energies: readonly [ColumnName, ...ColumnName[]];
}

/** Rows to be read, with the names of their columns. */
export interface RowSelect extends RowShape {
  sql: string;
  parameters: SqlParameters;
}

/** A report of one generation. Any days of those that it was opened with can be asked of it. */
export interface ExportedReport {
  rows(range: DayRange): RowSelect;
  /** The body that the endpoint answers with, as UTF-8 in parts. */
  body(range: DayRange): Promise<Uint8Array[]>;
  /** What all days come to, in words. */
  sums?(range: DayRange): Array<[name: string, value: string]>;
  /** Whether what is said of a day hangs on which others are asked for with it. */
  dependsOnRange?: boolean;
}

export type OpenReport = (
  query: ExportQuery,
  at: { generation: Generation; lake: LakeReader; signal?: AbortSignal | undefined },
) => ExportedReport | Promise<ExportedReport>;

/** No rows, and their columns all the same. */
export function noRows(shape: RowShape): RowSelect {
  const none = shape.columns.map((name) => `NULL::${columnType(name).sql} AS ${name}`).join(', ');
  return { ...shape, sql: `SELECT ${none} WHERE false`, parameters: {} };
}

/** The rows of a statement, with a column that says how what they are of is called in the configuration. */
export function withNames(
  { sql, parameters }: { sql: string; parameters: SqlParameters },
  column: 'device' | 'meter',
  named: ReadonlyArray<{ id: string; name?: string | undefined }>,
): { sql: string; parameters: SqlParameters } {
  const names = named.filter(({ name }) => name !== undefined);
  // Without a join rows stay in their order.
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
