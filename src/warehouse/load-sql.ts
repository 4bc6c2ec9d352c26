import { readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { sha256Hex } from '../lib/durable-files.ts';
import { TerminalError } from '../lib/errors.ts';
import { packageFolder } from '../lib/package-folder.ts';

/** One numbered step of the schema, `sql/schema/NNN_name.sql`. Released steps are never edited. */
export interface Migration {
  number: number;
  /** Name of the file, for messages. */
  file: string;
  sql: string;
  /** SHA-256 of the text with LF line ends. */
  checksum: string;
}

const sqlFolder = join(packageFolder, 'sql');
const folders = new Map<string, ReadonlyMap<string, string>>();

/**
 * Reads a statement of `sql/`, once for each process.
 * @param name folder and name of the statement, such as `rollup/collect_pairs`: the line
 *   `-- name: collect_pairs` begins it in one of the folder's chapters
 * @throws TerminalError if there is none
 */
export function loadSql(name: string): string {
  const [folder, statement] = [dirname(name), basename(name)];
  let statements = folders.get(folder);
  if (statements === undefined) {
    statements = readStatements(join(sqlFolder, folder));
    folders.set(folder, statements);
  }
  const text = statements.get(statement);
  if (text === undefined)
    throw new TerminalError('SqlMissing', `there is no statement ${name} in sql/; install Wattline again`);
  return text;
}

/**
 * Reads the statements of a folder, by name. The semicolon at the end of a statement is removed, so that the
 * statement can become a part of a larger one. The line `-- name: <name>` begins a statement; the text before
 * the first one is the heading of the chapter.
 * @throws TerminalError if two statements have the same name, or a file has no statement
 */
export function readStatements(folder: string): Map<string, string> {
  const statements = new Map<string, string>();
  for (const file of readdirSync(folder).filter((name) => name.endsWith('.sql'))) {
    const statementsOfFile = statementsOf(readFileSync(join(folder, file), 'utf8'));
    if (statementsOfFile.length === 0)
      throw new TerminalError(
        'SqlBroken',
        `${join(folder, file)}: no line names a statement: -- name: <name>`,
      );
    for (const [name, text] of statementsOfFile) {
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
    return [part.slice(0, end).trim(), part.slice(end + 1).replace(/;?\s*$/, '')];
  });
}

/**
 * Reads the migrations of this program, in order: 1, 2, 3 and so on.
 * @throws TerminalError if the files do not form this sequence
 */
export function loadMigrations(folder = join(sqlFolder, 'schema')): Migration[] {
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
  return { number: Number(match[1]), file, sql, checksum: sha256Hex(sql) };
}
