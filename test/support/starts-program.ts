import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { findImports } from './find-imports.ts';
import { programRoot } from './program-folder.ts';

/** Modules that find the files of the built program. Tests have another module in place of the first one. */
const finders = ['src/lib/sibling-module.ts', 'test/support/process-environment.ts'];

/**
 * Whether a module can start a process or a thread of the program: it imports a module that finds the files
 * of the program, directly or through other modules.
 * @param paths of modules, from the root of the project
 */
export function canStartProgram(paths: readonly string[]): boolean {
  const seen = new Set<string>();
  const canStart = (path: string): boolean => {
    if (finders.includes(path)) return true;
    const file = join(programRoot, path);
    // Text in a test can look like an import of a file that does not exist.
    if (seen.has(path) || !existsSync(file)) return false;
    seen.add(path);
    return findImports({ path, text: readFileSync(file, 'utf8') }).some(
      ({ target, isLibrary, typesOnly }) => !isLibrary && !typesOnly && canStart(target),
    );
  };
  return paths.some(canStart);
}
