/** A file of any format as rows of texts. */
export interface Sheet {
  columns: readonly string[];
  rows: ReadonlyArray<SheetRow>;
}

export interface SheetRow {
  /** Its line in the file, from 1. */
  line: number;
  /** In the order of the columns. Empty cells are ''. */
  cells: readonly string[];
}

/** Rows of one file. Larger files must be split. */
export const UPLOAD_ROWS_MAX = 500_000;
export const TOO_MANY_ROWS = `has more than ${UPLOAD_ROWS_MAX.toLocaleString('en')} rows; split it`;
