import type { Readable } from 'node:stream';
import { parse as parseStream } from 'csv-parse';
import { CsvError, parse } from 'csv-parse/sync';
import { formatCount } from '../lib/format-count.ts';

/** The characters that are tried between cells. */
export const csvDelimiters = [';', ',', '\t', '|'] as const;

export interface CsvRow {
  /** The last line of the row in the file, from 1 on. */
  line: number;
  /** Lines of the file above the row. */
  linesAbove: number;
  /** Without blanks around them. */
  cells: string[];
}

export interface CsvFormat {
  delimiter: string;
  /** The first line to read, from 1 on. Default: 1. */
  fromLine?: number;
  /** How many rows to read at most. Default: all. */
  rowsMax?: number;
  /** A text with more cells is a problem. Default: any number. */
  cellsMax?: number;
  /** A text in which more rows have another number of cells than the first one is a problem. Default: any. */
  oddRowsMax?: number;
  /** Accepts quotes inside of a cell, and keeps empty lines as rows. */
  isLoose?: boolean;
}

export type ParsedCsv = { kind: 'rows'; rows: CsvRow[] } | { kind: 'problem'; line: number; message: string };

/** Reads the rows of a CSV text. Rows may have different numbers of cells. */
export function parseCsv(
  text: string,
  { delimiter, fromLine = 1, rowsMax = Number.POSITIVE_INFINITY, isLoose = false, ...bounds }: CsvFormat,
): ParsedCsv {
  const { cellsMax = Number.POSITIVE_INFINITY, oddRowsMax = Number.POSITIVE_INFINITY } = bounds;
  let linesAbove = fromLine - 1;
  let width: number | undefined;
  let cellCount = 0;
  let oddRows = 0;
  /** Counts rows while they are read, because the reader needs much time and memory for odd ones. */
  const rowOf = (record: string[], { lines }: { lines: number }): CsvRow => {
    width ??= record.length;
    cellCount += record.length;
    if (record.length !== width) oddRows += 1;
    if (cellCount > cellsMax)
      throw new CsvTooLargeError(lines, `more than ${formatCount(cellsMax)} cells; split it`);
    if (oddRows > oddRowsMax)
      throw new CsvTooLargeError(
        lines,
        `more than ${formatCount(oddRowsMax)} rows have another number of cells`,
      );
    const row = { line: lines, linesAbove, cells: record.map((cell) => cell.trim()) };
    linesAbove = lines;
    return row;
  };
  try {
    const rows: unknown = parse(text, {
      delimiter,
      bom: true,
      on_record: (record: string[], info) => rowOf(record, info) as never,
      from_line: fromLine,
      relax_column_count: true,
      relax_quotes: isLoose,
      skip_empty_lines: !isLoose,
      ...(Number.isFinite(rowsMax) && { to: rowsMax }),
      // With a tab as delimiter trimming would remove empty cells.
      trim: delimiter !== '\t',
    });
    return { kind: 'rows', rows: rows as CsvRow[] };
  } catch (error) {
    if (error instanceof CsvTooLargeError)
      return { kind: 'problem', line: error.line, message: error.message };
    if (!(error instanceof CsvError)) throw error;
    const line = typeof error.lines === 'number' ? error.lines : 0;
    return { kind: 'problem', line, message: error.message.replace(/ at line.*$/, '') };
  }
}

class CsvTooLargeError extends Error {
  readonly line: number;

  constructor(line: number, message: string) {
    super(message);
    this.line = line;
  }
}

/** A row of a file that is too large to be read at once, by the names of its columns. */
interface CsvRecord {
  record: Record<string, string>;
  info: { lines: number };
}

/**
 * Reads CSV with commas row by row.
 * @param columns receives the names of the first line, and returns the names of the columns
 * @returns rows; iterating them throws the errors of the file and of its content
 */
export function streamCsv(
  sources: readonly Readable[],
  columns: (names: string[]) => string[],
): AsyncIterable<CsvRecord> {
  const rows = sources.at(-1)!.pipe(parseStream({ columns, bom: true, skip_empty_lines: true, info: true }));
  // A pipe does not pass errors on.
  for (const stream of sources) stream.on('error', (error) => rows.destroy(error));
  return rows;
}
