/** A file as rows of texts, whatever its format. */
export interface Sheet {
  columns: readonly string[];
  rows: ReadonlyArray<SheetRow>;
}

export interface SheetRow {
  /** Where it stands in the file, from 1 on. */
  line: number;
  /** By the place of the column; empty where there is nothing. */
  cells: readonly string[];
}

/** Rows of one file; what is more goes into several. */
export const ROWS_MAX = 500_000;
export const TOO_MANY_ROWS = `has more than ${ROWS_MAX.toLocaleString('en')} rows; split it`;
