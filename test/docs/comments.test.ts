import { globSync, readFileSync } from 'node:fs';
import { basename, join, posix } from 'node:path';
import { expect, test } from 'vitest';
import { pages, repositoryRoot } from '../support/readme.ts';

/** Everything in the project whose name a comment can give, from the root. */
const files = globSync(['*', '{.ci,.github,bench,docs,jobs,ops,sql,src,test}/**/*'], {
  cwd: repositoryRoot,
}).map((path) => path.replaceAll('\\', '/'));
const sources = files
  .filter((path) => /^(?:\.ci|bench|jobs|sql|src|test)\/.*\.(?:css|mjs|sql|tsx?)$/.test(path))
  .map((path) => ({ path, text: readFileSync(join(repositoryRoot, path), 'utf8') }));

const TEXT_WITH_STARS = /\/\*[\s\S]*?\*\//g;
const comments = sources.flatMap(({ path, text }) => {
  const patterns = path.endsWith('.sql') ? [/--.*$/gm] : [TEXT_WITH_STARS, /(?<=^|\s)\/\/ .*$/gm];
  return patterns.flatMap((pattern) => [...text.matchAll(pattern)].map(([comment]) => ({ path, comment })));
});

/** A name of a file, with its folders or without. Not a pattern such as `*.test.ts`, and not a placeholder such as `NNN_name.sql`. */
const FILE_NAME = /(?<![\w.*<>{}/$-])(?!\S*NNN)[\w@.][\w./-]*\.(?:css|md|mjs|sql|tsx?)\b(?![\w.(])/g;

const exists = (name: string) =>
  name.includes('/')
    ? files.some((path) => path === name || path.endsWith(`/${name}`))
    : files.some((path) => basename(path) === name);

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
        /^\S+\.(?:css|json|md|mjs|sql|tsx?|ya?ml)$/.test(name) || (isCode && !name.includes(' '));
      // Tables name a test without its ending.
      const names = [path, path.replace(/(?:\.page)?(?:\.test)?\.\w+$/, '')];
      if (looksLikeFile && !names.some((one) => one === name || one.endsWith(`/${name}`)))
        wrong.push(`${page}: [${shown}](${target})`);
    }
  }
  expect(wrong).toEqual([]);
});
