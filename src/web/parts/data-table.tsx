import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { csvText } from '../words/csv-text.ts';
import { countText } from '../words/number-words.ts';
import { useMedia } from './use-media.ts';

export interface TableColumn<Row> {
  title: string;
  cell(row: Row): ComponentChildren;
  /** Numbers stand at the right. */
  isNumber?: boolean;
  /** The cell of the last line, below all rows. */
  sum?: ComponentChildren;
}

const PAGE_ROWS = 50;
/** On a phone each row is a block of lines. */
const PHONE_ROWS = 10;
const PHONE = '(max-width: 720px)';

/** The rows of one page of a table. */
export function usePageRows(): number {
  return useMedia(PHONE) ? PHONE_ROWS : PAGE_ROWS;
}

/** A table in pages of 50 rows, or 10 on a phone. The first column names the row. */
export function DataTable<Row>(props: {
  caption: string;
  columns: ReadonlyArray<TableColumn<Row>>;
  rows: readonly Row[];
  keyOf(row: Row): string;
  /** The same table as a file. */
  file?: { name: string; heading: readonly string[]; row(row: Row): ReadonlyArray<string | number | null> };
}) {
  const { caption, columns, rows, keyOf, file } = props;
  const [page, setPage] = useState(0);
  const pageRows = usePageRows();
  const pages = Math.max(1, Math.ceil(rows.length / pageRows));
  const shownPage = Math.min(page, pages - 1);
  const [first, ...rest] = columns;
  const sideOf = (column: TableColumn<Row>) => (column.isNumber ? 'number' : undefined);
  return (
    <div class="table-block">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a wide table is scrolled with the keyboard */}
      <section class="table-scroll" tabIndex={0} aria-label={caption}>
        <table>
          <caption class="visually-hidden">{caption}</caption>
          <thead>
            <tr>
              {columns.map((column) => (
                <th key={column.title} scope="col" class={sideOf(column)}>
                  {column.title}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.slice(shownPage * pageRows, (shownPage + 1) * pageRows).map((row) => (
              <tr key={keyOf(row)}>
                <th scope="row" class={sideOf(first!)}>
                  {first!.cell(row)}
                </th>
                {rest.map((column) => (
                  <td key={column.title} class={sideOf(column)} data-title={column.title}>
                    {column.cell(row)}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
          {columns.some(({ sum }) => sum !== undefined) && (
            <tfoot>
              <tr>
                <th scope="row">Sum</th>
                {rest.map((column) => (
                  <td key={column.title} class={sideOf(column)} data-title={column.title}>
                    {column.sum}
                  </td>
                ))}
              </tr>
            </tfoot>
          )}
        </table>
      </section>
      {(pages > 1 || file) && (
        <div class="table-foot">
          {pages > 1 && (
            <div class="pager">
              <button
                type="button"
                class="button quiet"
                disabled={shownPage === 0}
                onClick={() => setPage(shownPage - 1)}
              >
                Previous
              </button>
              <span class="muted">
                {countText(shownPage * pageRows + 1)} –{' '}
                {countText(Math.min(rows.length, (shownPage + 1) * pageRows))} of {countText(rows.length)}
              </span>
              <button
                type="button"
                class="button quiet"
                disabled={shownPage === pages - 1}
                onClick={() => setPage(shownPage + 1)}
              >
                Next
              </button>
            </div>
          )}
          {file && (
            <button
              type="button"
              class="button quiet"
              onClick={() => saveFile(file.name, csvText(file.heading, rows.map(file.row)))}
            >
              Download CSV
            </button>
          )}
        </div>
      )}
    </div>
  );
}

function saveFile(name: string, text: string): void {
  // With a byte order mark spreadsheets read it as UTF-8.
  const url = URL.createObjectURL(new Blob(['\ufeff', text], { type: 'text/csv;charset=utf-8' }));
  const link = Object.assign(document.createElement('a'), { href: url, download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
