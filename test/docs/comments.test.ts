import { globSync, readFileSync } from 'node:fs';
import { basename, join, posix } from 'node:path';
import { expect, test } from 'vitest';
import { pages, repositoryRoot } from '../support/readme.ts';

const THIS_FILE = 'test/docs/comments.test.ts';
/** The width of the code: `lineWidth` of biome.json. */
const COMMENT_WIDTH_MAX = 110;
/** Files whose comments begin with two hyphens. */
const DASH_COMMENTS = /\.(?:lua|sql)$/;

const read = (path: string) => readFileSync(join(repositoryRoot, path), 'utf8');

/** Everything in the project whose name a comment can give, from the root. */
const files = globSync(['*', '{.ci,.github,bench,docs,jobs,lua,ops,sql,src,test}/**/*'], {
  cwd: repositoryRoot,
}).map((path) => path.replaceAll('\\', '/'));
const sources = files
  .filter((path) => /^(?:\.ci|bench|jobs|lua|sql|src|test)\/.*\.(?:css|lua|mjs|sql|tsx?)$/.test(path))
  .map((path) => ({ path, text: read(path) }));

/** A migration has a checksum, so not even a comment of it is edited once it is released. */
const isMigration = (path: string) => path.startsWith('sql/schema/');

const TEXT_WITH_STARS = /\/\*[\s\S]*?\*\//g;
const comments = sources.flatMap(({ path, text }) => {
  const patterns = DASH_COMMENTS.test(path) ? [/--.*$/gm] : [TEXT_WITH_STARS, /(?<=^|\s)\/\/ .*$/gm];
  return patterns.flatMap((pattern) => [...text.matchAll(pattern)].map(([comment]) => ({ path, comment })));
});

/**
 * A name of a file, with its folders or without. Not a pattern such as `*.test.ts`, and not a placeholder
 * such as `NNN_name.sql`.
 */
const FILE_NAME = /(?<![\w.*<>{}/$-])(?!\S*NNN)[\w@.][\w./-]*\.(?:css|lua|md|mjs|sql|tsx?)\b(?![\w.(])/g;

const exists = (name: string) =>
  name.includes('/')
    ? files.some((path) => path === name || path.endsWith(`/${name}`))
    : files.some((path) => basename(path) === name);

test('a tag of a docstring begins a line', () => {
  // A docstring of one line may have its tag after the sentence.
  const wrong = comments.flatMap(({ path, comment }) =>
    [...comment.matchAll(/^.*[^\s*`].* @(?:param|returns|throws) .*$/gm)]
      .filter(([line]) => !/^\s*\/\*\* .*\*\/$/.test(line))
      .map(([line]) => `${path}: ${line.trim()}`),
  );
  expect(wrong).toEqual([]);
});

test('a file that a comment names exists', () => {
  const named = comments.flatMap(({ path, comment }) =>
    [...comment.matchAll(FILE_NAME)].map(([name]) => ({ path, name: name.replace(/^(?:\.\.?\/)+/, '') })),
  );
  expect(named.length).toBeGreaterThan(50);
  expect(named.filter(({ name }) => !exists(name))).toEqual([]);
});

test('the text of a link to a file of code is the name of that file', () => {
  const wrong: string[] = [];
  for (const [page, text] of pages) {
    for (const [, shown, target] of text.matchAll(/(?<!!)\[([^\][]+)\]\((?!https?:)([^)#\s]+)[^)]*\)/g)) {
      const path = posix.join(posix.dirname(page), target!);
      const name = shown!.replaceAll('`', '').replace(/^(?:\.\.\/)+/, '');
      const isCode = /\.\w+$/.test(path) && !path.endsWith('.md');
      const looksLikeFile =
        /^\S+\.(?:css|json|lua|md|mjs|sql|tsx?|ya?ml)$/.test(name) || (isCode && !name.includes(' '));
      // Tables name a test without its ending.
      const names = [path, path.replace(/(?:\.page)?(?:\.test)?\.\w+$/, '')];
      if (looksLikeFile && !names.some((one) => one === name || one.endsWith(`/${name}`)))
        wrong.push(`${page}: [${shown}](${target})`);
    }
  }
  expect(wrong).toEqual([]);
});

test('comments and pages use the common words', () => {
  const avoided: ReadonlyArray<[phrase: RegExp, instead: string]> = [
    [/\balso(?:\s+(?:\*|\/\/|--))?\s+if\b/gi, 'even if'],
    [/\bseldom\b/gi, 'rarely'],
    [/\bunheeded\b/gi, 'ignored'],
  ];
  const texts = [
    ...[...pages, ['CHANGELOG.md', read('CHANGELOG.md')] as const].map(([path, text]) => ({ path, text })),
    // This file has the phrases itself.
    ...sources.filter(({ path }) => path !== THIS_FILE && !isMigration(path)),
  ];
  const found = texts.flatMap(({ path, text }) =>
    avoided.flatMap(([phrase, instead]) =>
      [...text.matchAll(phrase)].map(({ index }) => {
        const line = text.slice(0, index).split('\n').length;
        return `${path}:${line}: write "${instead}"`;
      }),
    ),
  );
  expect(found).toEqual([]);
});

test(`no line of a comment is longer than ${COMMENT_WIDTH_MAX} characters`, () => {
  const long = sources
    .filter(({ path }) => /^(?:bench|jobs|lua|sql|src|test)\//.test(path) && !isMigration(path))
    .flatMap(({ path, text }) =>
      text
        .split('\n')
        .flatMap((line, index) =>
          (DASH_COMMENTS.test(path) ? /^\s*--/ : /^\s*(?:\*|\/\*|\/\/)/).test(line) &&
          line.length > COMMENT_WIDTH_MAX
            ? [`${path}:${index + 1}`]
            : [],
        ),
    );
  expect(long).toEqual([]);
});
