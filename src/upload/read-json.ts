import type { ReadSheet } from './read-csv.ts';
import { ROWS_MAX, type SheetRow } from './sheet.ts';

/** Reads NDJSON, an object a line, or an array of objects. Members are columns. */
export function readJson(text: string): ReadSheet {
  const body = text.trimStart();
  return body.startsWith('[') ? readArray(body) : readLines(text);
}

function readArray(text: string): ReadSheet {
  let items: unknown;
  try {
    items = JSON.parse(text);
  } catch {
    return refused(0, 'is no JSON');
  }
  if (!Array.isArray(items)) return refused(0, 'is no array of objects');
  return sheetOf(items.map((item: unknown, index) => ({ line: index + 1, item })));
}

function readLines(text: string): ReadSheet {
  const objects: Array<{ line: number; item: unknown }> = [];
  for (const [index, line] of text.split('\n').entries()) {
    if (line.trim() === '') continue;
    try {
      objects.push({ line: index + 1, item: JSON.parse(line) });
    } catch {
      return refused(index + 1, 'is no JSON object; each line is one, or the whole is an array of them');
    }
  }
  return sheetOf(objects);
}

export function sheetOf(objects: ReadonlyArray<{ line: number; item: unknown }>): ReadSheet {
  if (objects.length === 0) return refused(0, 'is empty');
  if (objects.length > ROWS_MAX)
    return refused(0, `has ${objects.length} rows and ${ROWS_MAX} are the most; split it`);
  const places = new Map<string, number>();
  const rows: SheetRow[] = [];
  for (const { line, item } of objects) {
    if (typeof item !== 'object' || item === null || Array.isArray(item))
      return refused(line, 'is no object');
    const cells: string[] = [];
    for (const [name, value] of Object.entries(item)) {
      const place = places.get(name) ?? places.size;
      places.set(name, place);
      if (typeof value === 'object' && value !== null)
        return refused(line, `"${name}" is no text and no number`);
      cells[place] = value === null || value === undefined ? '' : String(value).trim();
    }
    rows.push({ line, cells });
  }
  const columns = [...places.keys()];
  return {
    kind: 'sheet',
    sheet: {
      columns,
      rows: rows.map(({ line, cells }) => ({ line, cells: columns.map((_, index) => cells[index] ?? '') })),
    },
  };
}

function refused(line: number, message: string): ReadSheet {
  return { kind: 'refused', problem: { line, message } };
}
