import { parseCsvTable } from '../foreign-table/parse-csv-table.ts';
import { formatCountOf } from '../lib/format-count.ts';

/** A row of a CSV file by column names, without empty cells. */
type Row = Record<string, string>;

export type CsvItems = { kind: 'items'; items: unknown[] } | { kind: 'problem'; message: string };

/** Columns of numbers. Other text stays, and the schema reports it. */
const numbers = new Set(['multiplier', 'sign']);

/**
 * Reads meters from CSV: one row for each, with the settings of a meter as columns: code, direction, device,
 * source ...
 */
export function metersOfCsv(text: string): CsvItems {
  return readRows(text, ['code'], (rows) => rows.map(withNumbers));
}

/**
 * Reads sites from CSV: one row for each member: site, and meter (its code) or device, then source, sign,
 * from, to.
 */
export function sitesOfCsv(text: string): CsvItems {
  return readRows(text, ['site'], (rows) =>
    [...Map.groupBy(rows, ({ site }) => site)].map(([name, members]) => ({
      name,
      meters: membersOf(members, 'meter', 'code'),
      devices: membersOf(members, 'device', 'id'),
    })),
  );
}

/**
 * The members of a site with this column, which has another name in the configuration. A row with both
 * columns is two members.
 */
function membersOf(rows: readonly Row[], column: 'meter' | 'device', key: string): unknown[] {
  return rows
    .filter((row) => row[column] !== undefined)
    .map(({ site: _, [column]: id, ...rest }) => withNumbers({ [key]: id!, ...rest }));
}

function withNumbers(row: Row): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(row).map(([name, text]) => {
      const number = numbers.has(name) ? Number(text) : Number.NaN;
      return [name, Number.isNaN(number) ? text : number];
    }),
  );
}

function readRows(text: string, needed: readonly string[], itemsOf: (rows: Row[]) => unknown[]): CsvItems {
  const namesOf = (cells: readonly string[]) => cells.map((cell) => cell.toLowerCase());
  const isHeading = (cells: readonly string[]) => needed.every((name) => namesOf(cells).includes(name));
  const parsed = parseCsvTable(text, { isHeading });
  if (parsed.kind === 'problem') return { kind: 'problem', message: `is not a CSV file: ${parsed.message}` };
  const [head, ...rows] = parsed.rows;
  if (!head || !isHeading(head.cells) || rows.length === 0)
    return {
      kind: 'problem',
      message: `is not a CSV file with a column "${needed.join('", "')}" in its first line and rows below it`,
    };
  const odd = rows.find(({ cells }) => cells.length !== head.cells.length);
  if (odd)
    return {
      kind: 'problem',
      message: `is not a CSV file: line ${odd.line} has ${formatCountOf(odd.cells.length, 'cell')}, and the first line names ${formatCountOf(head.cells.length, 'column')}`,
    };
  const names = namesOf(head.cells);
  return {
    kind: 'items',
    items: itemsOf(
      rows.map(({ cells }) =>
        Object.fromEntries(
          names.map((name, index) => [name, cells[index]!]).filter(([, cell]) => cell !== ''),
        ),
      ),
    ),
  };
}
