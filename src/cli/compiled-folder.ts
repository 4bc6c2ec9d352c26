import { accessSync, constants, existsSync, mkdirSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';

/**
 * The folder in which Node keeps compiled code, so that the next start does not compile it again. It is made
 * if it does not exist.
 * @param cacheHome the folder of caches; undefined or empty: `.cache` in the folder of the user
 * @returns undefined if it cannot be made or written, as on a read-only disk, or if the user has no folder
 */
export function compiledFolder(cacheHome: string | undefined, home?: string): string | undefined {
  try {
    // A user that is only a number, as in a container, has no folder. Then this throws.
    const above = cacheHome || join(home ?? homedir(), '.cache');
    const folder = join(above, 'wattline', 'compiled');
    // Not recursive, because Node tries for ever to make a folder below /proc. Private, because the code in
    // it is run.
    for (const each of [above, join(above, 'wattline'), folder])
      if (!existsSync(each)) mkdirSync(each, { mode: 0o700 });
    accessSync(folder, constants.W_OK);
    return folder;
  } catch {
    return undefined;
  }
}
