import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { programRoot } from './program-folder.ts';

const sqlRoot = join(programRoot, 'sql');
const folders = readdirSync(sqlRoot);

/**
 * The SQL that a module can read: all chapters of each folder of `sql` from which it names a statement, such
 * as `rollup/collect_pairs`, and the migrations if it loads them.
 * @param code the text of the module
 * @returns paths of files
 */
export function readSqlFiles(code: string): string[] {
  const named = new Set([...code.matchAll(/['`]([a-z-]+)\/[a-z$]/g)].map(([, folder]) => folder));
  if (code.includes('loadMigrations(')) named.add('schema');
  return folders
    .filter((folder) => named.has(folder))
    .flatMap((folder) => readdirSync(join(sqlRoot, folder)).map((file) => join(sqlRoot, folder, file)));
}
