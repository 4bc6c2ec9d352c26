import { realpathSync, statSync } from 'node:fs';
import { basename } from 'node:path';
import { type DuckDBConnection, DuckDBInstance } from '@duckdb/node-api';
import { cannotBeRead, errorMessage, InputError } from '../lib/errors.ts';
import { sqlString } from '../lib/sql-text.ts';
import { loadSql } from '../warehouse/load-sql.ts';
import { type FileKind, fileKind } from './file-kind.ts';

/**
 * A DuckDB in memory that can read only one file. It is separate from the warehouse, so a harmful file cannot
 * damage the warehouse.
 */
export interface Reader {
  readonly connection: DuckDBConnection;
  /** Absolute, without symbolic links. */
  readonly path: string;
  /** The same as a pattern of DuckDB that fits only this file. */
  readonly pattern: string;
  /** By the given name, or else by the name of the linked file. */
  readonly kind: FileKind;
  close(): void;
}

const MEMORY_MEGABYTES = 512;

/** @throws InputError if the file does not exist */
export async function openReader(file: string, options: { threads: number }): Promise<Reader> {
  let path: string;
  let isFolder: boolean;
  try {
    path = realpathSync(file);
    isFolder = statSync(path).isDirectory();
  } catch (error) {
    throw fileProblem(file, cannotBeRead(error));
  }
  if (isFolder) throw fileProblem(file, `is a folder: name its files, such as "${file}/*.csv"`);
  // DuckDB takes a path as a pattern. For a file named "a*.csv" or "a[1].csv" it would read all files that
  // match, so these characters are escaped.
  const pattern = path.replace(/[*?[]/g, '[$&]');
  const instance = await DuckDBInstance.create(':memory:', {
    memory_limit: `${MEMORY_MEGABYTES}MiB`,
    threads: String(options.threads),
    temp_directory: '',
    autoinstall_known_extensions: 'false',
    autoload_known_extensions: 'false',
    allow_community_extensions: 'false',
  });
  const connection = await instance.connect();
  const close = () => {
    connection.closeSync();
    instance.closeSync();
  };
  try {
    await connection.run("SET TimeZone = 'UTC'");
    // The pattern is allowed too, because DuckDB checks the pattern before it looks for files.
    await connection.run(`SET allowed_paths = [${sqlString(path)}, ${sqlString(pattern)}]`);
    await connection.run('SET enable_external_access = false');
    await connection.run('SET lock_configuration = true');
    await connection.run(loadSql('import/create_file_macros'));
  } catch (error) {
    close();
    throw error;
  }
  const named = fileKind(file);
  return { connection, path, pattern, kind: named.format === undefined ? fileKind(path) : named, close };
}

/** These errors of DuckDB do not say what to do, or they name settings of DuckDB that nobody can set here. */
const KNOWN_ERRORS: ReadonlyArray<readonly [RegExp, string]> = [
  [
    /Maximum line size/,
    'has a line of more than 1 MiB, in which no heading can be found: check its line ends and its quotes, or remove columns',
  ],
  [
    /Error when sniffing|state machine reached an invalid state/,
    'cannot be read as one table: check that all lines end in the same way (Windows or Unix), and that each quote is closed; or name the delimiter, the quote and the lines to skip under "csv" of a mapping file',
  ],
  [
    /^Out of Memory|failed to allocate/,
    `needs more than ${MEMORY_MEGABYTES} MiB of memory to be read: remove columns, or split it`,
  ],
];

/** DuckDB's error for an unreadable file, in one line and with what to do. */
export function unreadable(path: string, error: unknown): InputError {
  if (error instanceof InputError) return error;
  const text = errorMessage(error);
  const known = KNOWN_ERRORS.find(([pattern]) => pattern.test(text));
  if (known) return fileProblem(path, known[1]);
  const [line = ''] = text.replace(/^[A-Z][A-Za-z ]* Error: /, '').split('\n');
  return fileProblem(path, `cannot be read: ${line.slice(0, 300)}`);
}

export function fileProblem(path: string, message: string): InputError {
  return new InputError(basename(path), [{ path: '', message }]);
}
