import { clipText } from '../lib/clip-text.ts';
import { type ReadTable, refusedTable } from './read-csv.ts';
import type { LineProblem } from './refusals.ts';
import {
  type TableRow,
  TOO_MANY_CELLS,
  TOO_MANY_COLUMNS,
  TOO_MANY_ROWS,
  UPLOAD_CELLS_MAX,
  UPLOAD_COLUMNS_MAX,
  UPLOAD_ROWS_MAX,
} from './upload-table.ts';

/** An array is read at once, in memory. */
const ARRAY_LENGTH_MAX = 32 * 1024 * 1024;

interface Item {
  line: number;
  item: unknown;
}

/** Reads NDJSON with one object on each line, or an array of objects. Members are columns. */
export function readJson(text: string): ReadTable {
  return /^\s*\[/.test(text) ? readArray(text) : readLines(text);
}

function readArray(text: string): ReadTable {
  if (text.length > ARRAY_LENGTH_MAX)
    return refusedTable(
      0,
      'is an array of more than 32 MiB; write one object on each line, or split the file',
    );
  let items: unknown[];
  try {
    items = JSON.parse(text);
  } catch {
    return refusedTable(0, 'is not JSON');
  }
  if (items.length > UPLOAD_ROWS_MAX) return refusedTable(0, TOO_MANY_ROWS);
  return tableOf(items.map((item, index) => ({ line: index + 1, item })));
}

function readLines(text: string): ReadTable {
  const items: Item[] = [];
  const problems: LineProblem[] = [];
  for (let line = 1, start = 0; start < text.length; line++) {
    const next = text.indexOf('\n', start);
    const end = next < 0 ? text.length : next;
    const written = text.slice(start, end).trim();
    start = end + 1;
    if (written === '') continue;
    if (items.length + problems.length === UPLOAD_ROWS_MAX) return refusedTable(0, TOO_MANY_ROWS);
    try {
      items.push({ line, item: JSON.parse(written) });
    } catch {
      problems.push({
        line,
        message: 'is not a JSON object; write one object on each line, or one array of objects',
      });
    }
  }
  return problems.length > 0 ? { kind: 'refused', problems } : tableOf(items);
}

function tableOf(items: readonly Item[]): ReadTable {
  if (items.length === 0) return refusedTable(0, 'is empty');
  const places = new Map<string, number>();
  const problems: LineProblem[] = [];
  const rows: TableRow[] = [];
  for (const { line, item } of items) {
    const cells: string[] = [];
    rows.push({ line, cells });
    if (typeof item !== 'object' || item === null || Array.isArray(item)) {
      problems.push({ line, message: 'is not an object' });
      continue;
    }
    for (const [name, value] of Object.entries(item)) {
      if (typeof value === 'object' && value !== null)
        problems.push({
          line,
          message: `"${clipText(name)}" is neither text nor a number; write one of these`,
        });
      const place = places.get(name) ?? places.size;
      // Each object can add columns, and each row gets a cell of each column.
      if (place >= UPLOAD_COLUMNS_MAX) return refusedTable(line, TOO_MANY_COLUMNS);
      places.set(name, place);
      cells[place] = value === null || value === undefined ? '' : String(value).trim();
    }
  }
  if (problems.length > 0) return { kind: 'refused', problems };
  const columns = [...places.keys()];
  if (columns.length * rows.length > UPLOAD_CELLS_MAX) return refusedTable(0, TOO_MANY_CELLS);
  return {
    kind: 'table',
    table: {
      columns,
      rows: rows.map(({ line, cells }) => ({ line, cells: columns.map((_, index) => cells[index] ?? '') })),
    },
  };
}
