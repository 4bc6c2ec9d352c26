import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { lakeFailureReasons } from '../../src/report/lake/lake-reader.ts';
import { repositoryRoot } from '../support/readme.ts';

const page = readFileSync(join(repositoryRoot, 'docs', 'troubleshooting.md'), 'utf8');

/** All text of the product, with the variable parts of messages as dots. */
function productText(): string {
  const folders = ['src', 'jobs'];
  return folders
    .flatMap((folder) =>
      readdirSync(join(repositoryRoot, folder), { recursive: true, encoding: 'utf8' })
        .filter((name) => name.endsWith('.ts'))
        .map((name) => readFileSync(join(repositoryRoot, folder, name), 'utf8')),
    )
    .join('\n')
    .replace(/\$\{[^}]*\}/g, '...');
}

test('every quoted message and event is one of the product', () => {
  const quoted = [...page.matchAll(/^\| `([^`]+)`/gm)].map(([, words]) => words!);
  const events = [...page.matchAll(/`((?:stream|config)\.[a-z]+(?:-[a-z]+)+)`/g)].map(([, event]) => event!);
  expect(quoted.length).toBeGreaterThanOrEqual(10);
  expect(events.length).toBeGreaterThanOrEqual(2);
  const text = productText();
  const parts = quoted.flatMap((words) => words.split(/\.\.\.|: /)).map((part) => part.trim());
  const unknown = [...parts, ...events].filter(
    (part) => part !== '' && !text.includes(part.replace(/^,\s*/, '')),
  );
  expect(unknown).toEqual([]);
});

test('every reason for a 503 of a report is on the page', () => {
  const words = Object.values(lakeFailureReasons).map((reason) => reason.split(';')[0]!);
  expect(words.filter((text) => !page.includes(`| \`${text}\` |`))).toEqual([]);
});
