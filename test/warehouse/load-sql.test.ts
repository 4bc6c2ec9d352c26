import { cpSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { loadMigrations, loadSql, readStatements } from '../../src/warehouse/load-sql.ts';
import { tempDir } from '../support/temp-dir.ts';

test('statements are read by their name below sql/', () => {
  expect(loadSql('land/store_batch')).toContain('INSERT INTO batch');
});

test('the same code finds the sql folder from dist/src, beside which it is installed', async () => {
  const root = tempDir();
  for (const path of ['warehouse/load-sql.ts', 'lib'])
    cpSync(join(import.meta.dirname, '../../src', path), join(root, 'dist/src', path), { recursive: true });
  mkdirSync(join(root, 'sql/schema'), { recursive: true });
  writeFileSync(join(root, 'package.json'), '{"type":"module"}');
  mkdirSync(join(root, 'sql/answers'));
  writeFileSync(join(root, 'sql/answers/10_answers.sql'), '-- name: answer\nSELECT 42;\n');
  const installed = (await import(join(root, 'dist/src/warehouse/load-sql.ts'))) as {
    loadSql: typeof loadSql;
  };
  expect(installed.loadSql('answers/answer')).toBe('SELECT 42');
});

test.each([
  {
    files: { '10_a.sql': '-- name: one\nSELECT 1;\n', '20_b.sql': '-- name: one\nSELECT 2;\n' },
    expected: /20_b\.sql: a second .* named one/,
  },
  {
    files: { '10_a.sql': '-- Answers.\nSELECT 1;\n' },
    expected: /10_a\.sql: no line names a statement: -- name: <name>/,
  },
])('a folder with $files is refused', ({ files, expected }) => {
  const folder = tempDir();
  for (const [file, text] of Object.entries(files)) writeFileSync(join(folder, file), text);
  expect(() => readStatements(folder)).toThrow(expected);
});

test('a statement is read without the heading of its chapter and without its last semicolon', () => {
  const folder = tempDir();
  writeFileSync(
    join(folder, '10_a.sql'),
    '-- 10 A: two.\r\n\r\n-- name: one\r\nSELECT 1;\r\n\r\n-- name: two\r\n-- Two.\r\nSELECT 2;\r\n',
  );
  expect([...readStatements(folder)]).toEqual([
    ['one', 'SELECT 1'],
    ['two', '-- Two.\nSELECT 2'],
  ]);
});

test('the migrations of this program are numbered from 1 without a hole', () => {
  const numbers = loadMigrations().map(({ number }) => number);
  expect(numbers[0]).toBe(1);
  expect(numbers).toEqual(numbers.map((_, index) => index + 1));
});

test.each([
  { files: ['001_a.sql', '003_c.sql'], expected: /expected migration number 2/ },
  { files: ['001_a.sql', '001_b.sql'], expected: /expected migration number 2/ },
  { files: ['first.sql'], expected: /named NNN_what_it_does\.sql/ },
])('a schema folder with $files is refused', ({ files, expected }) => {
  const folder = tempDir();
  for (const file of files) writeFileSync(join(folder, file), 'SELECT 1');
  expect(() => loadMigrations(folder)).toThrow(expected);
});

test('a checksum does not depend on the line ends of a checkout', () => {
  const checksums = ['SELECT 1;\nSELECT 2;\n', 'SELECT 1;\r\nSELECT 2;\r\n'].map((text) => {
    const folder = tempDir();
    writeFileSync(join(folder, '001_a.sql'), text);
    return loadMigrations(folder)[0]!.checksum;
  });
  expect(checksums[0]).toBe(checksums[1]);
});
