/** A column of rows: its content, unit and format. */
export interface ColumnType {
  /** The type in DuckDB. */
  sql:
    | 'DATE'
    | 'TIMESTAMPTZ'
    | 'TIMESTAMP'
    | 'UUID'
    | 'VARCHAR'
    | 'VARCHAR[]'
    | 'BIGINT'
    | 'DOUBLE'
    | 'BOOLEAN';
  /** The title of the column. */
  title: string;
  about: string;
  /** The width in a sheet, in characters. */
  width: number;
  /** The number format in a sheet. Default: whole numbers with separators. */
  format?: string;
}

const text = (title: string, about: string, width: number): ColumnType => ({
  sql: 'VARCHAR',
  title,
  about,
  width,
});
const energy = (title: string, about: string): ColumnType => ({ sql: 'BIGINT', title, about, width: 16 });
const share = (title: string, about: string): ColumnType => ({
  sql: 'DOUBLE',
  title,
  about,
  width: 16,
  format: '0.0%',
});
const day = (title: string, about: string): ColumnType => ({ sql: 'DATE', title, about, width: 13 });
const percent = (title: string, about: string): ColumnType => ({
  sql: 'DOUBLE',
  title,
  about,
  width: 16,
  format: '0.00',
});

const instant = (title: string, about: string): ColumnType => ({
  sql: 'TIMESTAMPTZ',
  title,
  about,
  width: 21,
});
const number = (title: string, about: string): ColumnType => ({ sql: 'BIGINT', title, about, width: 10 });

/** Makes columns of the usual kinds. */
export const columnKinds = { text, energy, share, day, percent, instant, number } as const;
