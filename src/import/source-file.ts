import { basename } from 'node:path';
import type { DuckDBConnection } from '@duckdb/node-api';
import { InputError } from '../lib/errors.ts';
import { jsonPointer } from '../lib/json-pointer.ts';
import { sqlString } from '../lib/sql-text.ts';
import { MEBIBYTE } from '../lib/units.ts';
import { checkFirstBytes, firstBytes } from './first-bytes.ts';
import type { FileFormat, Mapping } from './import-mapping.ts';
import { fileProblem, type Reader, unreadable } from './open-reader.ts';

/** A file as rows of columns. */
export interface SourceFile {
  format: FileFormat;
  columns: readonly SourceColumn[];
  /**
   * A FROM clause with columns `c0`, `c1` ... in the order of `columns`, and a column `broken`. It says why a
   * row is broken, and is null for a good row.
   */
  from: string;
  /** The detected properties of a CSV file. */
  csv?: Required<Mapping['csv']>;
}

export interface SourceColumn {
  /** The name in the mapping. */
  name: string;
  /** DuckDB's type. VARCHAR for all columns of a text file. */
  type: string;
}

/** Longer lines and JSON objects are rejected. */
const LINE_BYTES_MAX = MEBIBYTE;
/** Broken lines of a CSV file that are counted. */
const BROKEN_LINES_MAX = 100_000;
const BROKEN_NONE = 'NULL::VARCHAR AS broken';

/**
 * Finds the columns of a file.
 * @param wanted the members to read from a JSON file, which has no list of columns
 * @throws InputError if the file cannot be read
 */
export async function openSource(
  reader: Reader,
  mapping: Pick<Mapping, 'format' | 'csv'>,
  wanted: readonly string[],
): Promise<SourceFile> {
  const { connection, path, pattern, kind } = reader;
  const format = mapping.format ?? kind.format;
  if (format === undefined) {
    if (path.toLowerCase().endsWith('.zip'))
      throw fileProblem(path, 'is a ZIP archive: unpack it, and import the files in it');
    throw fileProblem(
      path,
      'has a name that does not end in .csv, .ndjson or .parquet; write "format" in a mapping file',
    );
  }
  await checkFirstBytes(path, format, kind.compression);
  try {
    switch (format) {
      case 'csv':
        return await openCsv(connection, pattern, kind.compression, mapping.csv);
      case 'ndjson':
        return openJson(await jsonObjects(reader), wanted);
      case 'parquet':
        return await openParquet(connection, pattern);
      default:
        return format satisfies never;
    }
  } catch (error) {
    throw unreadable(path, error);
  }
}

async function openCsv(
  connection: DuckDBConnection,
  pattern: string,
  compression: string,
  given: Mapping['csv'],
): Promise<SourceFile> {
  const fixed = {
    compression: sqlString(compression),
    encoding: sqlString(given.encoding),
    max_line_size: String(LINE_BYTES_MAX),
  };
  const sniffed = await sniff(connection, pattern, {
    ...fixed,
    ...(given.delimiter !== undefined && { delim: sqlString(given.delimiter) }),
    ...(given.quote !== undefined && { quote: sqlString(given.quote) }),
    ...(given.header !== undefined && { header: String(given.header) }),
    ...(given.skipLines !== undefined && { skip: String(given.skipLines) }),
    all_varchar: 'true',
    ignore_errors: 'true',
  });
  const csv = {
    delimiter: given.delimiter ?? sniffed.delimiter,
    quote: given.quote ?? sniffed.quote,
    header: given.header ?? sniffed.header,
    skipLines: given.skipLines ?? sniffed.skipLines,
    encoding: given.encoding,
  };
  const columns = sniffed.names.map((name, index) => ({
    name: csv.header ? name : `column${index + 1}`,
    type: 'VARCHAR',
  }));
  const settings = {
    ...fixed,
    delim: sqlString(csv.delimiter),
    quote: sqlString(csv.quote),
    escape: sqlString(csv.quote),
    header: String(csv.header),
    skip: String(csv.skipLines),
    auto_detect: 'false',
    strict_mode: 'true',
    store_rejects: 'true',
    rejects_limit: String(BROKEN_LINES_MAX),
    columns: `{${columns.map((_, index) => `c${index}: 'VARCHAR'`).join(', ')}}`,
  };
  return {
    format: 'csv',
    columns,
    csv,
    from: `(SELECT *, ${BROKEN_NONE} FROM read_csv(${sqlString(pattern)}, ${list(settings)}))`,
  };
}

interface Sniffed {
  delimiter: string;
  quote: string;
  header: boolean;
  skipLines: number;
  names: string[];
}

async function sniff(
  connection: DuckDBConnection,
  pattern: string,
  settings: Record<string, string>,
): Promise<Sniffed> {
  const { all_varchar: _, ...sniffable } = settings;
  const found = await connection.runAndReadAll(
    `SELECT "Delimiter", "Quote", "SkipRows", "HasHeader", list_transform("Columns", lambda one: one.name)::VARCHAR[] AS names
     FROM sniff_csv(${sqlString(pattern)}, ${list(sniffable)})`,
  );
  const [row] = found.getRowObjectsJson() as Array<Record<string, unknown>>;
  const character = (value: unknown, otherwise: string) =>
    typeof value === 'string' && value.length === 1 ? value : otherwise;
  return {
    delimiter: character(row!.Delimiter, ','),
    quote: character(row!.Quote, '"'),
    header: row!.HasHeader === true,
    skipLines: Number(row!.SkipRows),
    names: row!.names as string[],
  };
}

/**
 * A FROM clause with a column `json` for each object of a file, and `broken`. Objects stand one on a line, or
 * in one array.
 */
export async function jsonObjects({
  path,
  pattern,
  kind,
}: Omit<Reader, 'connection' | 'close'>): Promise<string> {
  const { compression } = kind;
  const start = Buffer.from(await firstBytes(path, compression)).toString();
  const settings = {
    compression: sqlString(compression === 'none' ? 'uncompressed' : compression),
    format: sqlString(/^\uFEFF?\s*\[\s*\{/.test(start) ? 'array' : 'newline_delimited'),
    ignore_errors: 'true',
    maximum_object_size: String(LINE_BYTES_MAX),
  };
  const broken =
    "CASE WHEN json IS NULL THEN 'no JSON' WHEN json_type(json) <> 'OBJECT' THEN 'no JSON object' END AS broken";
  return `(SELECT json, ${broken} FROM read_json_objects(${sqlString(pattern)}, ${list(settings)}))`;
}

/** Each wanted member becomes a column. A name that begins with a slash is a path (RFC 6901). */
function openJson(objects: string, wanted: readonly string[]): SourceFile {
  const pointers = wanted.map((name) => sqlString(name.startsWith('/') ? name : jsonPointer([name])));
  const cells = `json_extract_string(json, [${pointers.join(', ')}]::VARCHAR[]) AS cells`;
  const columns = [...wanted.map((_, index) => `cells[${index + 1}] AS c${index}`), 'broken'];
  return {
    format: 'ndjson',
    columns: wanted.map((name) => ({ name, type: 'VARCHAR' })),
    from: `(SELECT ${columns.join(', ')} FROM (SELECT ${cells}, broken FROM ${objects}))`,
  };
}

async function openParquet(connection: DuckDBConnection, pattern: string): Promise<SourceFile> {
  const read = `read_parquet(${sqlString(pattern)}, hive_partitioning = false)`;
  const described = await connection.runAndReadAll(`DESCRIBE SELECT * FROM ${read}`);
  const columns = described
    .getRowObjectsJson()
    .map((row) => ({ name: String(row.column_name), type: String(row.column_type) }));
  const aliases = columns.map((_, index) => `c${index}`).join(', ');
  const from = `(SELECT *, ${BROKEN_NONE} FROM ${read} AS file(${aliases}))`;
  return openStructs(connection, { format: 'parquet', columns, from });
}

/** How many levels of objects or structures within a row are opened. Deeper ones stay one column. */
export const OPENED_DEPTH_MAX = 3;

/** Adds the members of structures as columns, named by their path (RFC 6901). */
async function openStructs(connection: DuckDBConnection, source: SourceFile, depth = 0): Promise<SourceFile> {
  if (depth === OPENED_DEPTH_MAX || !source.columns.some(isStruct)) return source;
  const columns: SourceColumn[] = [];
  const cells: string[] = [];
  for (const [index, column] of source.columns.entries()) {
    if (!isStruct(column)) {
      columns.push(column);
      cells.push(`c${index}`);
      continue;
    }
    const described = await connection.runAndReadAll(`DESCRIBE SELECT c${index}.* FROM ${source.from}`);
    for (const row of described.getRowObjectsJson()) {
      const member = String(row.column_name);
      const path = depth === 0 ? jsonPointer([column.name]) : column.name;
      columns.push({ name: `${path}${jsonPointer([member])}`, type: String(row.column_type) });
      cells.push(`struct_extract(c${index}, ${sqlString(member)})`);
    }
  }
  const listed = cells.map((cell, index) => `${cell} AS c${index}`);
  const from = `(SELECT ${[...listed, 'broken'].join(', ')} FROM ${source.from})`;
  return openStructs(connection, { ...source, columns, from }, depth + 1);
}

function isStruct({ type }: SourceColumn): boolean {
  return type.startsWith('STRUCT(') && !type.endsWith(']');
}

function list(settings: Record<string, string>): string {
  return Object.entries(settings)
    .map(([name, value]) => `${name} = ${value}`)
    .join(', ');
}

/** @throws InputError with all missing columns */
export function requireColumns(
  path: string,
  source: SourceFile,
  wanted: ReadonlyArray<{ path: string; column: string }>,
): void {
  const known = new Set(source.columns.map(({ name }) => name));
  const missing = wanted.filter(({ column }) => !known.has(column));
  if (missing.length === 0) return;
  const names = source.columns.map(({ name }) => `"${name}"`).join(', ');
  throw new InputError(
    `the mapping for ${basename(path)}`,
    missing.map((field) => ({
      path: field.path,
      message: `the file has no column "${field.column}"; it has ${names.slice(0, 500)}`,
    })),
  );
}
