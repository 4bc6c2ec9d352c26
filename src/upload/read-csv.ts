import { CsvError, parse } from 'csv-parse/sync';
import { clip } from './instant-reader.ts';
import type { LineProblem } from './refusals.ts';
import { ROWS_MAX, type Sheet, type SheetRow, TOO_MANY_ROWS } from './sheet.ts';

export type ReadSheet = { kind: 'sheet'; sheet: Sheet } | { kind: 'refused'; problems: LineProblem[] };

export interface CsvOptions {
  /** What stands between cells; found out where it is not given. */
  delimiter?: string | undefined;
  /** Whether a row names the columns that are looked for: what stands above it is passed over. */
  isHeader(cells: readonly string[]): boolean;
}

const delimiters = [',', ';', '\t', '|'] as const;
/** Lines above the names of the columns, such as those in which a tool describes its output. */
const PREAMBLE_LINES_MAX = 60;

/** Reads CSV: with a heading of names, whatever stands above it, and empty lines anywhere. */
export function readCsv(text: string, options: CsvOptions): ReadSheet {
  const candidates = options.delimiter === undefined ? delimiters : [options.delimiter];
  const heads = candidates.map((delimiter) => ({ delimiter, head: firstRows(text, delimiter) }));
  for (const { delimiter, head } of heads) {
    const at = head.findIndex(({ cells }) => options.isHeader(cells));
    if (at >= 0) return readRows(text, delimiter, head[at]!.line);
  }
  // No row names what is looked for: what comes nearest is shown with what it lacks.
  const { delimiter, head } = heads.toSorted((one, other) => widest(other.head) - widest(one.head))[0]!;
  const { line = 1 } = head.find(({ cells }) => cells.length > 1) ?? head[0] ?? {};
  if (text.trim() === '') return refusedSheet(0, 'is empty; its first line names the columns');
  return readRows(text, delimiter, line);
}

function widest(rows: readonly SheetRow[]): number {
  return Math.max(0, ...rows.map(({ cells }) => cells.length));
}

function firstRows(text: string, delimiter: string): SheetRow[] {
  let end = 0;
  for (let line = 0; line < PREAMBLE_LINES_MAX && end >= 0; line++) end = text.indexOf('\n', end + 1);
  try {
    return parseRows(end < 0 ? text : text.slice(0, end), delimiter, { from: 1, relaxed: true });
  } catch {
    return [];
  }
}

function readRows(text: string, delimiter: string, headerLine: number): ReadSheet {
  try {
    const [header, ...rows] = parseRows(text, delimiter, { from: headerLine, relaxed: false });
    const columns = header!.cells;
    if (rows.length > ROWS_MAX) return refusedSheet(0, TOO_MANY_ROWS);
    const odd = rows.filter(({ cells }) => cells.length !== columns.length);
    if (odd.length > 0) {
      const named = `${columns.length} columns are named in line ${headerLine}`;
      const problems = odd.map(({ line, cells }) => ({
        line,
        message: `has ${cells.length} cells, and ${named}`,
      }));
      return { kind: 'refused', problems };
    }
    return { kind: 'sheet', sheet: { columns, rows } };
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    const line = typeof error.lines === 'number' ? error.lines : 0;
    return refusedSheet(line, `is no CSV: ${clip(error.message.replace(/ at line.*$/, ''))}`);
  }
}

export function refusedSheet(line: number, message: string): ReadSheet {
  return { kind: 'refused', problems: [{ line, message }] };
}

function parseRows(
  text: string,
  delimiter: string,
  { from, relaxed }: { from: number; relaxed: boolean },
): SheetRow[] {
  const records = parse(text, {
    delimiter,
    bom: true,
    info: true,
    from_line: from,
    relax_column_count: true,
    relax_quotes: relaxed,
    skip_empty_lines: true,
    // With the heading one more than is taken: a file of many more would not fit into memory.
    to: ROWS_MAX + 2,
    // Blanks around a delimiter are none of the cell; a tab may be the delimiter itself.
    trim: delimiter !== '\t',
  }) as unknown as Array<{ record: string[]; info: { lines: number } }>;
  return records
    .map(({ record, info }) => ({ line: info.lines, cells: record.map((cell) => cell.trim()) }))
    .filter(({ cells }) => cells.some((cell) => cell !== ''));
}
