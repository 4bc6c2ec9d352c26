/** A column of a table for people. */
export interface Column<Row> {
  title: string;
  value: (row: Row) => string;
  /** Numbers stand at the right. */
  align?: 'left' | 'right';
}

/** Aligns rows under their titles, two spaces apart, without blanks at the ends of lines. */
export function formatTable<Row>(columns: ReadonlyArray<Column<Row>>, rows: readonly Row[]): string {
  const lines = [
    columns.map(({ title }) => title),
    ...rows.map((row) => columns.map(({ value }) => value(row))),
  ];
  const widths = columns.map((_, index) => Math.max(...lines.map((line) => line[index]!.length)));
  const pad = (text: string, index: number) =>
    columns[index]!.align === 'right' ? text.padStart(widths[index]!) : text.padEnd(widths[index]!);
  return lines.map((line) => `${line.map(pad).join('  ').trimEnd()}\n`).join('');
}
