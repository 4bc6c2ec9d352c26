import { parseCsvTable } from '../foreign-table/parse-csv-table.ts';
import { clipText } from '../lib/clip-text.ts';
import { formatCount, formatCountOf } from '../lib/format-count.ts';
import type { LineProblem } from './refusals.ts';
import {
  TOO_MANY_COLUMNS,
  TOO_MANY_ROWS,
  UPLOAD_CELLS_MAX,
  UPLOAD_COLUMNS_MAX,
  UPLOAD_ROWS_MAX,
  type UploadTable,
} from './upload-table.ts';

export type ReadTable = { kind: 'table'; table: UploadTable } | { kind: 'refused'; problems: LineProblem[] };

interface CsvOptions {
  /** The character between cells. Default: the delimiter that fits. */
  delimiter?: string | undefined;
  /** True for a row that names the expected columns. Rows above it are ignored. */
  isHeading(cells: readonly string[]): boolean;
}

/**
 * A row of 1,000 long cells. The heading is looked for with each delimiter, which takes seconds for a line of
 * 2 MB.
 */
const UPLOAD_LINE_CHARACTERS_MAX = 64 * 1024;
/** Rows with another number of cells than the heading. They are counted, and the first ones are listed. */
const ODD_ROWS_MAX = 10_000;

const EMPTY = 'is empty; its first line must name the columns';

/**
 * Reads CSV with a heading. If no row names the expected columns, the errors name the columns that are
 * missing in the nearest heading.
 */
export function readTableCsv(text: string, options: CsvOptions): ReadTable {
  if (text.trim() === '') return refusedTable(0, EMPTY);
  const longLine = findLongLine(text);
  if (longLine !== undefined)
    return refusedTable(
      longLine,
      `has more than ${formatCount(UPLOAD_LINE_CHARACTERS_MAX)} characters; check if this is a CSV file`,
    );
  const parsed = parseCsvTable(text, {
    ...options,
    // One row more than the heading and the most rows. A file with many more rows would take too much memory.
    rowsMax: UPLOAD_ROWS_MAX + 2,
    cellsMax: UPLOAD_CELLS_MAX,
    oddRowsMax: ODD_ROWS_MAX,
  });
  if (parsed.kind === 'problem') return refusedTable(parsed.line, `is not CSV: ${clipText(parsed.message)}`);
  const [head, ...below] = parsed.rows.filter(({ cells }) => cells.some((cell) => cell !== ''));
  if (!head) return refusedTable(0, EMPTY);
  const columns = head.cells;
  if (columns.length > UPLOAD_COLUMNS_MAX) return refusedTable(head.line, TOO_MANY_COLUMNS);
  if (below.length > UPLOAD_ROWS_MAX) return refusedTable(0, TOO_MANY_ROWS);
  const odd = below.filter(({ cells }) => cells.length !== columns.length);
  if (odd.length === 0) return { kind: 'table', table: { columns, rows: below } };
  const named = `${formatCountOf(columns.length, 'column is', 'columns are')} named in line ${head.line}`;
  const problems = odd.map(({ line, cells }) => ({
    line,
    message: `has ${formatCountOf(cells.length, 'cell')}, but ${named}; correct the row`,
  }));
  return { kind: 'refused', problems };
}

/** The first line that is too long, from 1 on. */
function findLongLine(text: string): number | undefined {
  let line = 1;
  let start = 0;
  for (const { index } of text.matchAll(/\r\n|\n|\r/g)) {
    if (index - start > UPLOAD_LINE_CHARACTERS_MAX) return line;
    line += 1;
    start = index + 1;
  }
  return text.length - start > UPLOAD_LINE_CHARACTERS_MAX ? line : undefined;
}

export function refusedTable(line: number, message: string): ReadTable {
  return { kind: 'refused', problems: [{ line, message }] };
}
