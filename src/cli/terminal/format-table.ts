import { displayWidth, padDisplayEnd, padDisplayStart } from '../../lib/display-width.ts';
import { visibleText } from '../../lib/visible-text.ts';

/** A column of a table in the terminal. */
export interface Column<Row> {
  title: string;
  value: (row: Row) => string;
  /** Numbers are aligned right. */
  align?: 'left' | 'right';
}

/**
 * Formats rows below their titles, two blanks apart. Lines have no blanks at their end, and empty columns are
 * left out. A table that is wider than `columnsMax` becomes a block for each row, with a line for each
 * column. It is ours because of these blocks and of the columns that are left out.
 */
export function formatTable<Row>(
  all: ReadonlyArray<Column<Row>>,
  rows: readonly Row[],
  columnsMax = Number.POSITIVE_INFINITY,
): string {
  const columns = all.filter(({ title, value }) => title !== '' || rows.some((row) => value(row) !== ''));
  const lines = [
    columns.map(({ title }) => title),
    ...rows.map((row) => columns.map(({ value }) => visibleText(value(row)))),
  ];
  const widths = columns.map((_, index) => Math.max(...lines.map((line) => displayWidth(line[index]!))));
  const width = widths.reduce((sum, one) => sum + one + 2, -2);
  if (width > columnsMax) return rows.map((row) => formatBlock(columns, row)).join('\n');
  const pad = (text: string, index: number) =>
    (columns[index]!.align === 'right' ? padDisplayStart : padDisplayEnd)(text, widths[index]!);
  return lines.map((line) => `${line.map(pad).join('  ').trimEnd()}\n`).join('');
}

function formatBlock<Row>(columns: ReadonlyArray<Column<Row>>, row: Row): string {
  const width = Math.max(...columns.map(({ title }) => displayWidth(title)));
  return columns
    .map(({ title, value }) => `${padDisplayEnd(title, width)}  ${visibleText(value(row))}`.trimEnd())
    .join('\n')
    .concat('\n');
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

/** A block of lines with a title. Empty if the text is empty. */
export function section(title: string, text: string): string {
  return text && `${title}\n${text.replace(/^(?=.)/gm, '  ')}`;
}
