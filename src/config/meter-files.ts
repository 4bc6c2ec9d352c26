import { CsvError, parse } from 'csv-parse/sync';

/** A row of a CSV file by its columns, without those that are empty. */
type Row = Record<string, string>;

export type CsvItems = { kind: 'items'; items: unknown[] } | { kind: 'problem'; message: string };

/** Columns that hold numbers; what is none is left for the schema to refuse. */
const numbers = new Set(['multiplier', 'sign']);

/** The meters of a CSV file, a row each, whose columns are the settings of a meter: code, direction, device, source ... */
export function metersOfCsv(text: string): CsvItems {
  return readRows(text, ['code'], (rows) => rows.map(withNumbers));
}

/** The sites of a CSV file, a row for each member: site, and meter (its code) or device, then source, sign, from, to. */
export function sitesOfCsv(text: string): CsvItems {
  return readRows(text, ['site'], (rows) =>
    [...Map.groupBy(rows, ({ site }) => site)].map(([name, members]) => ({
      name,
      meters: membersOf(members, 'meter', 'code'),
      devices: membersOf(members, 'device', 'id'),
    })),
  );
}

/** Those of a site that have this column, which is called otherwise in the configuration. A row of both would be two members. */
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
  const [heading = ''] = text.split('\n', 1);
  let rows: Row[];
  try {
    rows = parse(text, {
      columns: (names: string[]) => names.map((name) => name.toLowerCase()),
      delimiter: [';', '\t'].find((one) => heading.includes(one)) ?? ',',
      bom: true,
      trim: true,
      skip_empty_lines: true,
    });
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    return { kind: 'problem', message: `is no CSV file: ${error.message}` };
  }
  const missing = needed.filter((name) => rows.length > 0 && !Object.hasOwn(rows[0]!, name));
  if (rows.length === 0 || missing.length > 0)
    return {
      kind: 'problem',
      message: `is no CSV file with a column "${needed.join('", "')}" in its first line and rows below it`,
    };
  return {
    kind: 'items',
    items: itemsOf(
      rows.map((row) => Object.fromEntries(Object.entries(row).filter(([, cell]) => cell !== ''))),
    ),
  };
}
