import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { programRoot } from './program-folder.ts';

/**
 * The test files that begin with `// @module-tag slow`. Vitest would load them and then skip their tests, so
 * `npm test` leaves the files out.
 */
export function findSlowFiles(): string[] {
  return globSync('test/**/*.test.ts', { cwd: programRoot })
    .map((path) => path.replaceAll('\\', '/'))
    .filter((path) => readFileSync(join(programRoot, path), 'utf8').startsWith('// @module-tag slow\n'));
}
