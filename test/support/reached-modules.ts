import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { findImports } from './find-imports.ts';
import { programRoot } from './program-folder.ts';

/** The imports of the files that were read, because most files are reached by many tests. */
const known = new Map<string, string[]>();

/**
 * Whether a module imports another one, directly or through other modules. Imports of types do not count.
 * @param path from the root of the project
 * @param targets paths from the root of the project, or names of libraries
 */
export function reachesModule(path: string, targets: readonly string[]): boolean {
  const seen = new Set([path]);
  for (const one of seen) {
    if (targets.includes(one)) return true;
    for (const target of importsOf(one)) seen.add(target);
  }
  return false;
}

function importsOf(path: string): string[] {
  const found = known.get(path) ?? readImports(path);
  known.set(path, found);
  return found;
}

function readImports(path: string): string[] {
  const file = join(programRoot, path);
  // The name of a library is no file. Text in a test can look like an import of a file that does not exist.
  if (!existsSync(file)) return [];
  return findImports({ path, text: readFileSync(file, 'utf8') })
    .filter(({ typesOnly }) => !typesOnly)
    .map(({ target }) => target);
}
