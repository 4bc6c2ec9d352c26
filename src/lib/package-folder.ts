import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { TerminalError } from './errors.ts';

/** The root of this package, for `src` and for `dist/src`. */
export const packageFolder: string = findUpwards(import.meta.dirname);

/** It looks for the SQL, because `dist` has a package.json, too. */
function findUpwards(folder: string): string {
  if (existsSync(join(folder, 'sql', 'schema'))) return folder;
  const above = dirname(folder);
  if (above !== folder) return findUpwards(above);
  throw new TerminalError(
    'SqlMissing',
    `no folder above ${import.meta.dirname} has the sql files; install Wattline again`,
  );
}
