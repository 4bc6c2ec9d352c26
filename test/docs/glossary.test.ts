import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { stageNames } from '../../jobs/stages.ts';
import { sourceRoles } from '../../src/roles/role.ts';
import { pages, repositoryRoot } from '../support/readme.ts';

const SENTENCES_MAX = 2;

const page = pages.get('docs/glossary.md')!;
const rows = [...page.matchAll(/^\| (?!word|---)(.+?) \| (.+?) \| (.+?) \|$/gm)].map(
  ([, word, means, lives]) => ({
    word: word!,
    means: means!,
    lives: lives!,
  }),
);

const migrations = globSync('sql/schema/*.sql', { cwd: repositoryRoot }).map((file) =>
  readFileSync(join(repositoryRoot, file), 'utf8'),
);
const tables = new Set(
  migrations.flatMap((sql) => [...sql.matchAll(/^CREATE (?:TABLE|VIEW) (\w+)/gm)].map(([, name]) => name!)),
);

test('each word is explained in one or two sentences, and has a place', () => {
  expect(rows.length).toBeGreaterThan(80);
  expect(rows.filter(({ means }) => !/^[A-Z`(].*[.)]$/.test(means))).toEqual([]);
  expect(rows.filter(({ means }) => means.split(/\.\)?(?= |$)/).length - 1 > SENTENCES_MAX)).toEqual([]);
  expect(rows.filter(({ lives }) => !/\]\(|`/.test(lives))).toEqual([]);
  const words = rows.map(({ word }) => word);
  expect(words.filter((word, index) => words.indexOf(word) !== index)).toEqual([]);
});

test('tables that the glossary names exist', () => {
  const named = rows.flatMap(({ word, lives }) =>
    [...lives.matchAll(/\btables? ((?:`\w+`(?:, | and )?)+)/g)].flatMap(([, list]) =>
      [...list!.matchAll(/`(\w+)`/g)].map(([, name]) => ({ word, name: name! })),
    ),
  );
  expect(named.length).toBeGreaterThan(30);
  expect(named.filter(({ name }) => !tables.has(name))).toEqual([]);
});

test('what a row says to be in a file is there', () => {
  const named = rows.flatMap(({ lives }) =>
    [...lives.matchAll(/`(\w+)` in \[(\S+?)\]/g)].map(([, name, path]) => ({ name: name!, path: path! })),
  );
  expect(named.length).toBeGreaterThan(5);
  const isThere = ({ name, path }: { name: string; path: string }) =>
    new RegExp(`(?:interface|type|const|function\\*?) ${name}\\b|^ {2}${name}: `, 'm').test(
      readFileSync(join(repositoryRoot, path), 'utf8'),
    );
  expect(named.filter((one) => !isThere(one))).toEqual([]);
});

test('the lists of the glossary are equal to the lists of the code', () => {
  const listOf = (word: string) =>
    [
      ...rows
        .find((row) => row.word === word)!
        .means.split(': ')[1]!
        .matchAll(/\w+/g),
    ]
      .map(([name]) => name)
      .filter((name) => name !== 'or');
  expect(listOf('role (of a source)').toSorted()).toEqual([...sourceRoles].toSorted());
  expect(listOf('stage')).toEqual([...stageNames]);
});
