import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { readStatements } from '../../src/warehouse/load-sql.ts';

const sql = join(import.meta.dirname, '../../sql');
/** The migrations stay as they were released. */
const folders = readdirSync(sql).filter((folder) => folder !== 'schema');
const SUBQUERY = '(SELECT)';
/** Words of three letters. Longer aliases are always words. */
const SHORT_WORDS = new Set(['own']);

/** Where a statement gives a relation an alias. */
interface Alias {
  statement: string;
  relation: string;
  alias: string;
  /** The relation is a step of the WITH clause or a subquery, which only this statement knows. */
  isLocal: boolean;
}

/** A statement without its comments and texts. */
const codeOf = (text: string) => text.replaceAll(/--.*$|'[^']*'/gm, '');

/** The aliases of all statements of a folder. */
function aliasesOf(folder: string): Alias[] {
  return [...readStatements(join(sql, folder))].flatMap(([statement, text]) => {
    const code = codeOf(text);
    const steps = new Set(
      [...code.matchAll(/\b([a-z_]+)(?: \([a-z_, ]+\))? AS (?:(?:NOT )?MATERIALIZED )?\(/g)].map(
        ([, name]) => name!,
      ),
    );
    const named = code.matchAll(/\b(?:FROM|JOIN|USING|INTO) ([a-z_]+)(?: AS)? ([a-z_]+)\b/g);
    const subqueries = code.matchAll(/^ *\) AS ([a-z_]+)\b/gm);
    return [
      ...[...named].map(([, relation, alias]) => ({
        statement,
        relation: relation!,
        alias: alias!,
        isLocal: steps.has(relation!),
      })),
      ...[...subqueries].map(([, alias]) => ({
        statement,
        relation: SUBQUERY,
        alias: alias!,
        isLocal: true,
      })),
    ];
  });
}

/** The keys that have several values, as `key: value, value`. */
function ambiguous(pairs: Array<[key: string, value: string]>): string[] {
  const valuesOf = new Map<string, Set<string>>();
  for (const [key, value] of pairs) valuesOf.set(key, (valuesOf.get(key) ?? new Set()).add(value));
  return [...valuesOf].flatMap(([key, values]) =>
    values.size > 1 ? [`${key}: ${[...values].join(', ')}`] : [],
  );
}

describe.each(folders)('in sql/%s', (folder) => {
  const aliases = aliasesOf(folder);
  const ofTables = aliases.filter(({ isLocal }) => !isLocal);
  const ofSteps = aliases.filter(({ isLocal }) => isLocal);

  test('an alias stands for one table', () => {
    expect(ambiguous(ofTables.map(({ alias, relation }) => [alias, relation]))).toEqual([]);
  });

  test('a step or a subquery does not have the alias of a table', () => {
    const taken = new Set(ofTables.map(({ alias }) => alias));
    expect(ofSteps.filter(({ alias }) => taken.has(alias))).toEqual([]);
  });

  test('an alias stands for one step of a statement', () => {
    const steps = ofSteps.filter(({ relation }) => relation !== SUBQUERY);
    expect(
      ambiguous(steps.map(({ statement, alias, relation }) => [`${statement}: ${alias}`, relation])),
    ).toEqual([]);
  });
});

test('no column is named behind a single letter, and no window has one as name', () => {
  const letters = folders.flatMap((folder) =>
    [...readStatements(join(sql, folder))].flatMap(([statement, text]) =>
      [...codeOf(text).matchAll(/(?<![\w.$])[a-z]\.(?=[a-z_*"])|\bOVER [a-z]\b|\bAS [a-z]\b/g)].map(
        ([found]) => `${folder}/${statement}: ${found}`,
      ),
    ),
  );
  expect(letters).toEqual([]);
});

test('an alias is a word that says what the relation is for', () => {
  const aliases = folders.flatMap(aliasesOf);
  expect(aliases.length).toBeGreaterThan(100);
  expect(aliases.filter(({ alias }) => alias.length <= 3 && !SHORT_WORDS.has(alias))).toEqual([]);
});
