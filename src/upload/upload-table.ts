import { formatCount } from '../lib/format-count.ts';
/** A file of any format as rows of texts. */
export interface UploadTable {
  columns: readonly string[];
  rows: ReadonlyArray<TableRow>;
}

export interface TableRow {
  /** Its line in the file, from 1. */
  line: number;
  /** In the order of the columns. Empty cells are ''. */
  cells: readonly string[];
}

/** Rows of one file. Larger files must be split. */
export const UPLOAD_ROWS_MAX = 500_000;
export const TOO_MANY_ROWS = `has more than ${formatCount(UPLOAD_ROWS_MAX)} rows; split it`;

/** Cells of one file: 20 columns of all rows. */
export const UPLOAD_CELLS_MAX = 10_000_000;
/** Columns of one file. A few of them are read. */
export const UPLOAD_COLUMNS_MAX = 1_000;
export const TOO_MANY_CELLS = `has more than ${formatCount(UPLOAD_CELLS_MAX)} cells; split it`;
export const TOO_MANY_COLUMNS = `has more than ${formatCount(UPLOAD_COLUMNS_MAX)} columns; keep those that are read`;
