import { globSync, readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { expect, test } from 'vitest';
import { programRoot } from './support/program-folder.ts';
import { readSqlFiles } from './support/read-sql-files.ts';

const sqlOf = (path: string) =>
  readSqlFiles(readFileSync(join(programRoot, path), 'utf8')).map((file) => relative(programRoot, file));

test('a module reads the chapters of the folders from which it names a statement, and migrations', () => {
  expect(sqlOf('src/publish/balance-views.ts')).toContain('sql/publish/55_balance_views.sql');
  expect(sqlOf('src/rollup/rollup-context.ts')).toContain('sql/rollup/00_settings.sql');
  expect(sqlOf('src/warehouse/migrate.ts')).toContain('sql/schema/018_publication.sql');
  expect(sqlOf('src/pipeline/clock-troubles.ts')).toEqual([]);
});

test('some module reads each folder', () => {
  const read = new Set(globSync('{src,jobs}/**/*.ts', { cwd: programRoot }).flatMap(sqlOf));
  const folders = readdirSync(join(programRoot, 'sql'));
  expect(folders.filter((folder) => ![...read].some((path) => path.startsWith(`sql/${folder}/`)))).toEqual(
    [],
  );
});
