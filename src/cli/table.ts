/** A column of a table for people. */
export interface Column<Row> {
  title: string;
  value: (row: Row) => string;
  /** Numbers stand at the right. */
  align?: 'left' | 'right';
}

/** Aligns rows under their titles, two spaces apart, without blanks at the ends of lines and without columns that say nothing. */
export function formatTable<Row>(all: ReadonlyArray<Column<Row>>, rows: readonly Row[]): string {
  const columns = all.filter(({ title, value }) => title !== '' || rows.some((row) => value(row) !== ''));
  const lines = [
    columns.map(({ title }) => title),
    ...rows.map((row) => columns.map(({ value }) => value(row))),
  ];
  const widths = columns.map((_, index) => Math.max(...lines.map((line) => line[index]!.length)));
  const pad = (text: string, index: number) =>
    columns[index]!.align === 'right' ? text.padStart(widths[index]!) : text.padEnd(widths[index]!);
  return lines.map((line) => `${line.map(pad).join('  ').trimEnd()}\n`).join('');
}

/** A table without titles. */
export function formatRows<Row>(
  columns: ReadonlyArray<Omit<Column<Row>, 'title'>>,
  rows: readonly Row[],
): string {
  const table = formatTable(
    columns.map((column) => ({ title: '', ...column })),
    rows,
  );
  return table.slice(table.indexOf('\n') + 1);
}

/** A titled block of lines; nothing where there is nothing to say. */
export function section(title: string, text: string): string {
  return text && `${title}\n${text.replace(/^(?=.)/gm, '  ')}`;
}
