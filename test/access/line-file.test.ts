import {
  appendFileSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openLineFile } from '../../src/access/line-file.ts';
import { tempDir } from '../support/temp-dir.ts';

/** A file of numbers. `taken` has the numbers and resets that its reader was told of. */
function open(path = join(tempDir(), 'numbers.ndjson')) {
  const taken: Array<number | 'reset'> = [];
  const file = openLineFile(path, (value) => (typeof value === 'number' ? value : undefined), {
    take: (number) => taken.push(number),
    reset: () => taken.push('reset'),
  });
  return { path, file, taken };
}

test('processes see the lines of each other in order, each once', () => {
  const one = open();
  const another = open(one.path);
  one.file.append(1);
  another.file.append(2);
  one.file.append(3);
  another.file.refresh();
  another.file.refresh();
  expect([one.taken, another.taken]).toEqual([
    [1, 2, 3],
    [1, 2, 3],
  ]);
  expect(statSync(one.path).mode & 0o777).toBe(0o600);
});

test('a line is taken when it is complete', () => {
  const { path, file, taken } = open();
  writeFileSync(path, '1\n2');
  file.refresh();
  expect(taken).toEqual([1]);
  appendFileSync(path, '3\n');
  file.refresh();
  expect(taken).toEqual([1, 23]);
});

test('a line that a crash cut off, and lines of another kind, are skipped', () => {
  const { path, file, taken } = open();
  writeFileSync(path, '1\n\n"text"\n{"a":');
  file.append(2);
  expect(taken).toEqual([1, 2]);
  expect(readFileSync(path, 'utf8')).toBe('1\n\n"text"\n{"a":\n2\n');
});

test('a file without lines is no fault, and has no reset', () => {
  const { path, file, taken } = open();
  file.refresh();
  writeFileSync(path, '');
  file.refresh();
  file.append(1);
  expect(taken).toEqual([1]);
});

test.each<[how: string, change: (path: string) => void]>([
  [
    'was replaced',
    (path) => {
      writeFileSync(`${path}.new`, '7\n8\n9\n');
      renameSync(`${path}.new`, path);
    },
  ],
  [
    'became shorter',
    (path) => {
      truncateSync(path, 0);
      writeFileSync(path, '7\n');
    },
  ],
])('a file that %s is read again from its beginning', (_, change) => {
  const { path, file, taken } = open();
  for (const number of [1, 2, 3]) file.append(number);
  taken.length = 0;
  change(path);
  file.refresh();
  expect(taken[0]).toBe('reset');
  expect(taken[1]).toBe(7);
});

test('a file that was removed is empty, and begins again', () => {
  const { path, file, taken } = open();
  file.append(1);
  rmSync(path);
  file.refresh();
  expect(taken).toEqual([1, 'reset']);
  file.append(2);
  expect(taken.at(-1)).toBe(2);
});
