import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { TerminalError } from '../lib/errors.ts';

/** One numbered step of the schema, `sql/schema/NNN_name.sql`. Released ones are never edited. */
export interface Migration {
  number: number;
  /** The file's name, as people see it. */
  file: string;
  sql: string;
  /** SHA-256 of the text, whatever its line ends. */
  checksum: string;
}

const folders = new Map<string, ReadonlyMap<string, string>>();

/**
 * A statement of `sql/`, read once a process.
 * @param name folder and name of the statement, such as `rollup/find_pairs`: `-- name: find_pairs` begins it in one of the folder's chapters
 * @throws TerminalError where there is none
 */
export function loadSql(name: string): string {
  const [folder, statement] = [dirname(name), basename(name)];
  let statements = folders.get(folder);
  if (statements === undefined) {
    statements = readStatements(join(sqlFolder(), folder));
    folders.set(folder, statements);
  }
  const text = statements.get(statement);
  if (text === undefined)
    throw new TerminalError('SqlMissing', `there is no statement ${name} in sql/; install Wattline again`);
  return text;
}

/**
 * The statements of a folder, by name. Each begins with the line `-- name: <name>`; what stands before the first is the heading of the chapter.
 * @throws TerminalError where two have one name, or a file has none
 */
export function readStatements(folder: string): Map<string, string> {
  const statements = new Map<string, string>();
  for (const file of readdirSync(folder).filter((one) => one.endsWith('.sql'))) {
    const found = statementsOf(readFileSync(join(folder, file), 'utf8'));
    if (found.length === 0)
      throw new TerminalError(
        'SqlBroken',
        `${join(folder, file)}: no line names a statement: -- name: <name>`,
      );
    for (const [name, text] of found) {
      if (statements.has(name))
        throw new TerminalError('SqlBroken', `${join(folder, file)}: a second statement is named ${name}`);
      statements.set(name, text);
    }
  }
  return statements;
}

function statementsOf(text: string): Array<[name: string, text: string]> {
  const [, ...parts] = text.replaceAll('\r\n', '\n').split(/^-- name: /m);
  return parts.map((part) => {
    const end = part.indexOf('\n');
    return [part.slice(0, end).trim(), part.slice(end + 1)];
  });
}

/**
 * The migrations that this program knows, by number, starting at 1 without a hole.
 * @throws TerminalError where the files do not form such a sequence
 */
export function loadMigrations(folder = join(sqlFolder(), 'schema')): Migration[] {
  const migrations = readdirSync(folder)
    .filter((file) => file.endsWith('.sql'))
    .sort()
    .map((file) => readMigration(folder, file));
  for (const [index, { number, file }] of migrations.entries()) {
    if (number !== index + 1) {
      throw new TerminalError(
        'MigrationsBroken',
        `${join(folder, file)}: expected migration number ${index + 1}; each number must exist once, from 001 on`,
      );
    }
  }
  return migrations;
}

function readMigration(folder: string, file: string): Migration {
  const match = /^(\d{3})_[a-z0-9_]+\.sql$/.exec(file);
  if (!match) {
    throw new TerminalError(
      'MigrationsBroken',
      `${join(folder, file)}: a migration is named NNN_what_it_does.sql`,
    );
  }
  const sql = readFileSync(join(folder, file), 'utf8').replaceAll('\r\n', '\n');
  return { number: Number(match[1]), file, sql, checksum: createHash('sha256').update(sql).digest('hex') };
}

let folder: string | undefined;

/** The `sql` folder of this package: the same one whether this runs from `src` or from `dist/src`. */
function sqlFolder(): string {
  folder ??= findUpwards(dirname(fileURLToPath(import.meta.url)));
  return folder;
}

function findUpwards(start: string): string {
  for (let at = start; ; at = dirname(at)) {
    if (existsSync(join(at, 'sql', 'schema')) && existsSync(join(at, 'package.json'))) return join(at, 'sql');
    if (dirname(at) === at) {
      throw new TerminalError(
        'SqlMissing',
        `no folder above ${start} has the sql files; install Wattline again`,
      );
    }
  }
}
