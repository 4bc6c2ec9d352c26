import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** A chapter of SQL: what its head says, and what its statements do. */
export interface Chapter {
  /** Folder and file. */
  path: string;
  /**
   * Names in the lists `Reads` and `Writes` of the head. Items of several words are prose, and are left out.
   */
  head: { reads: Set<string>; writes: Set<string> };
  /** Tables and views that the statements read and write, without the tables of a WITH clause. */
  reads: Set<string>;
  writes: Set<string>;
  /** The written tables and views that are temporary. */
  temporary: Set<string>;
  /** `statement $parameter` for each parameter that a comment explains and the statement does not take. */
  unknownParameters: string[];
}

/** Reads the chapters of a folder. */
export function readChapters(folder: string, name: string): Chapter[] {
  return readdirSync(folder)
    .sort()
    .map((file) => chapterOf(`${name}/${file}`, readFileSync(join(folder, file), 'utf8')));
}

/** The items of `all` that are not in `known`. */
export const without = (all: Iterable<string>, known: ReadonlySet<string>): string[] =>
  [...all].filter((item) => !known.has(item));

function chapterOf(path: string, text: string): Chapter {
  const [heading, ...statements] = text.split(/^-- name: /m);
  const code = statements.map(codeOf);
  const tables = code.map(tablesOf);
  return {
    path,
    head: { reads: namesOf(heading!, 'Reads', 'Writes'), writes: namesOf(heading!, 'Writes', 'Why') },
    reads: new Set(tables.flatMap(({ reads }) => reads)),
    writes: new Set(tables.flatMap(({ writes }) => writes)),
    temporary: new Set(tables.flatMap(({ temporary }) => temporary)),
    unknownParameters: [
      ...without(parametersOf(heading!), parametersOf(code.join('\n'))),
      ...statements.flatMap((statement, index) =>
        without(parametersOf(statement), parametersOf(code[index]!)).map(
          (parameter) => `${statement.split('\n', 1)[0]} ${parameter}`,
        ),
      ),
    ],
  };
}

/**
 * The names of a list of the head: the items of its first sentence that are one word, with notes in brackets
 * left out.
 */
function namesOf(heading: string, label: string, next: string): Set<string> {
  const [list] = heading.split(`-- ${label} `)[1]!.split(`-- ${next} `);
  const text = list!.replaceAll(/\n--\s*/g, ' ').replaceAll(/\([^()]+\)/g, '');
  const items = text.split('.')[0]!.split(/[,;]/);
  const words = items.map((item) => item.replaceAll(/"|\(\)/g, '').trim());
  return new Set(words.filter((word) => /^[a-z_]+$/.test(word) && word !== 'nothing'));
}

const parametersOf = (text: string) => new Set([...text.matchAll(/\$[a-z_]+/g)].map(([name]) => name));

/** A statement without its name, comments and texts. */
const codeOf = (statement: string) =>
  statement
    .slice(statement.indexOf('\n'))
    .replaceAll(/--.*$/gm, '')
    .replaceAll(/'[^']*'/g, "''");

function tablesOf(code: string): Record<'reads' | 'writes' | 'temporary', string[]> {
  const find = (pattern: RegExp) => [...code.matchAll(pattern)].map(([, name]) => name!);
  const temporary = find(/\bTEMP (?:TABLE|VIEW) ([a-z_]+)/g);
  const changed = find(/\b(?:INSERT INTO|UPDATE|MERGE INTO|DELETE FROM) ([a-z_]+)/g);
  const created = find(/\bCREATE TABLE ([a-z_]+)/g);
  const withClause = find(/\b([a-z_]+)(?: \([a-z_, ]+\))? AS (?:(?:NOT )?MATERIALIZED )?\(/g);
  const read = find(/(?<!\bDELETE |\bDISTINCT )\b(?:FROM|JOIN|USING) "?([a-z_]+)"?(?![\w"]|\.|\((?!\)))/g);
  const listed = find(/\bFROM [a-z_]+(?: [a-z]+)?, ([a-z_]+)\b/g);
  return {
    reads: without([...read, ...listed], new Set(withClause)),
    writes: [...temporary, ...changed, ...created],
    temporary,
  };
}
