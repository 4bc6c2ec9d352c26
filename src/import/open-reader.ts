import { realpathSync, statSync } from 'node:fs';
import { basename } from 'node:path';
import { type DuckDBConnection, DuckDBInstance } from '@duckdb/node-api';
import { cannotBeRead, errorMessage, InputError } from '../lib/errors.ts';
import { sqlString } from '../lib/sql-text.ts';
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
  // Otherwise DuckDB reads the files that "a*.csv" or "a[1].csv" fits, and not the file of this name.
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
    // DuckDB compares the pattern with them too, before it looks for files.
    await connection.run(`SET allowed_paths = [${sqlString(path)}, ${sqlString(pattern)}]`);
    await connection.run('SET enable_external_access = false');
    await connection.run('SET lock_configuration = true');
    for (const macro of macros) await connection.run(`CREATE MACRO ${macro}`);
  } catch (error) {
    close();
    throw error;
  }
  const named = fileKind(file);
  return { connection, path, pattern, kind: named.format === undefined ? fileKind(path) : named, close };
}

/** DuckDB's error for an unreadable file, in one line. */
export function unreadable(path: string, error: unknown): InputError {
  if (error instanceof InputError) return error;
  const [line = ''] = errorMessage(error)
    .replace(/^[A-Z][A-Za-z ]* Error: /, '')
    .split('\n');
  return fileProblem(path, `cannot be read: ${line.slice(0, 300)}`);
}

export function fileProblem(path: string, message: string): InputError {
  return new InputError(basename(path), [{ path: '', message }]);
}

/** Macros for the statements that read a file. */
const macros = [
  // For ISO 8601: true if an offset or a Z follows the date.
  "has_zone(x) AS ends_with(x, 'Z') OR ends_with(x, 'z') OR contains(x, '+') OR contains(x[11:], '-')",
  // Excludes words that DuckDB knows, such as "epoch" and "infinity".
  "starts_with_digit(x) AS x >= '0' AND x < ':'",
  // DuckDB accepts no zone after a blank or after a time without seconds.
  "without_blank(x) AS regexp_replace(upper(x), '^(.{10})[T ](\\S+) (\\S+)$', '\\1 \\2\\3')",
  "with_seconds(x) AS regexp_replace(without_blank(x), '^(.{10})[T ](\\d\\d:\\d\\d)(Z|[+-]\\d\\d:?(\\d\\d)?)$', '\\1 \\2:00\\3')",
  'zoned_ms(x) AS epoch_ms(coalesce(try_cast(x AS TIMESTAMPTZ), try_cast(without_blank(x) AS TIMESTAMPTZ), try_cast(with_seconds(x) AS TIMESTAMPTZ)))::DOUBLE',
  // Numbers up to 2^53, because larger whole numbers lose digits. Excludes 1_000, inf and nan, which DuckDB
  // accepts.
  "plain_number(x) AS CASE WHEN contains(x, '_') THEN NULL ELSE try_cast(x AS DOUBLE) END",
  "exact_number(n, x) AS CASE WHEN NOT isfinite(n) OR (abs(n) > 9007199254740992 AND regexp_full_match(trim(x), '[+-]?\\d+')) THEN NULL ELSE n END",
  // A cell that is not a number, as JSON.
  "json_of(x) AS CASE WHEN regexp_full_match(x, '-?[1-9]\\d{15,38}') THEN x::JSON ELSE to_json(left(x, 4096)) END",
] as const;
