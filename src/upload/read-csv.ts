import { findHeading } from '../foreign-table/find-heading.ts';
import { parseCsv } from '../foreign-table/parse-csv.ts';
import { clipText } from '../lib/clip-text.ts';
import type { LineProblem } from './refusals.ts';
import { type Sheet, TOO_MANY_ROWS, UPLOAD_ROWS_MAX } from './sheet.ts';

export type ReadSheet = { kind: 'sheet'; sheet: Sheet } | { kind: 'refused'; problems: LineProblem[] };

export interface CsvOptions {
  /** The character between cells. Default: the one that fits. */
  delimiter?: string | undefined;
  /** True for a row that names the expected columns. Rows above it are ignored. */
  isHeading(cells: readonly string[]): boolean;
}

const EMPTY = 'is empty; its first line must name the columns';

/** Reads CSV with a heading. If no row names the expected columns, the errors say what the nearest heading lacks. */
export function readSheetCsv(text: string, options: CsvOptions): ReadSheet {
  if (text.trim() === '') return refusedSheet(0, EMPTY);
  const heading = findHeading(text, options) ?? { delimiter: options.delimiter ?? ',', skipLines: 0 };
  const parsed = parseCsv(text, {
    delimiter: heading.delimiter,
    fromLine: heading.skipLines + 1,
    // One more than the heading and all rows, because reading a file of many more would take too much memory.
    rowsMax: UPLOAD_ROWS_MAX + 2,
  });
  if (parsed.kind === 'problem') return refusedSheet(parsed.line, `is no CSV: ${clipText(parsed.message)}`);
  const [head, ...below] = parsed.rows.filter(({ cells }) => cells.some((cell) => cell !== ''));
  if (!head) return refusedSheet(0, EMPTY);
  const columns = head.cells;
  if (below.length > UPLOAD_ROWS_MAX) return refusedSheet(0, TOO_MANY_ROWS);
  const odd = below.filter(({ cells }) => cells.length !== columns.length);
  if (odd.length === 0) return { kind: 'sheet', sheet: { columns, rows: below } };
  const named = `${columns.length} columns are named in line ${head.line}`;
  const problems = odd.map(({ line, cells }) => ({
    line,
    message: `has ${cells.length} cells, and ${named}`,
  }));
  return { kind: 'refused', problems };
}

export function refusedSheet(line: number, message: string): ReadSheet {
  return { kind: 'refused', problems: [{ line, message }] };
}
