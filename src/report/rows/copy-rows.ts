import type { DuckDBConnection } from '@duckdb/node-api';
import { sqlString } from '../../lib/sql-text.ts';
import { queryText } from '../../warehouse/query.ts';
import { type ColumnName, columnType } from './row-columns.ts';
import type { ReportRows } from './row-select.ts';

export const rowFormats = ['csv', 'ndjson', 'parquet'] as const;
export type RowFormat = (typeof rowFormats)[number];

const TIMES = "DATEFORMAT '%Y-%m-%d', TIMESTAMPFORMAT '%Y-%m-%dT%H:%M:%SZ'";
const formats: Readonly<Record<RowFormat, { cell: (column: ColumnName) => string; options: string }>> = {
  // RFC 4180, with times in ISO 8601.
  csv: { cell: csvCell, options: `FORMAT csv, HEADER, NEW_LINE '\\r\\n', ${TIMES}` },
  ndjson: { cell: jsonCell, options: `FORMAT json, ${TIMES}` },
  parquet: { cell: typedCell, options: 'FORMAT parquet, COMPRESSION zstd, COMPRESSION_LEVEL 1' },
};

/**
 * Writes rows to a file. All formats have the same columns.
 * @param metadata JSON text for the metadata of a Parquet file
 */
export async function copyRows(
  connection: DuckDBConnection,
  rows: ReportRows,
  format: RowFormat,
  path: string,
  metadata?: string,
): Promise<void> {
  const { cell, options } = formats[format];
  const cells = rows.columns.map((column) => `${cell(column)} AS ${column}`).join(', ');
  const more = metadata === undefined ? '' : `, KV_METADATA { wattline: ${sqlString(metadata)} }`;
  await queryText(
    connection,
    `COPY (SELECT ${cells} FROM (\n${rows.sql}\n) AS exported ${orderBy(rows)}) TO $path (${options}${more})`,
    { ...rows.parameters, path },
  );
}

function orderBy({ order }: ReportRows): string {
  return order.length === 0 ? '' : `ORDER BY ${order.map((name) => `exported.${name}`).join(', ')}`;
}

/** The cell with its declared type, even if all rows are empty. */
function typedCell(column: ColumnName): string {
  return `${column}::${columnType(column).sql}`;
}

/** Local times have no Z. */
const localTime = (column: ColumnName) => `strftime(${column}, '%Y-%m-%dT%H:%M:%S')`;

/**
 * Characters that a spreadsheet reads as the beginning of a formula. The wide characters are characters of
 * Japanese keyboards.
 */
const FORMULA_STARTS = '=+@＝＋＠－-';
/**
 * Characters at which a spreadsheet begins a new cell, even inside quotes. Many spreadsheets expect
 * semicolons between cells, and not commas.
 */
const cellEnds = [';', '\t', '\r', '\n'];

/** Puts an apostrophe before text that a spreadsheet would read as a formula. Lists become text. */
function csvCell(column: ColumnName): string {
  const guarded = (text: string) => {
    // Few texts contain one of these characters. Looking for them takes less time than the pattern, so the
    // pattern is used only if there is one.
    const mayEnd = cellEnds.map((end) => `contains(${text}, chr(${end.charCodeAt(0)}))`).join(' OR ');
    const inside = `regexp_replace(${text}, '([;\\t\\r\\n])([${FORMULA_STARTS}])', '\\1''\\2', 'g')`;
    const whole = `regexp_replace(${inside}, '^([\\t\\r\\n${FORMULA_STARTS}])', '''\\1')`;
    return `CASE WHEN regexp_matches(${text}, '^[${FORMULA_STARTS}]') OR ${mayEnd} THEN ${whole} ELSE ${text} END`;
  };
  switch (columnType(column).sql) {
    case 'VARCHAR':
      return guarded(column);
    case 'VARCHAR[]':
      return guarded(`nullif(array_to_string(${column}, ' '), '')`);
    case 'TIMESTAMP':
      return localTime(column);
    default:
      return column;
  }
}

function jsonCell(column: ColumnName): string {
  return columnType(column).sql === 'TIMESTAMP' ? localTime(column) : typedCell(column);
}
