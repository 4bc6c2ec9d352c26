import { lstat } from 'node:fs/promises';
import { ifMissing } from './errors.ts';

/**
 * True if there is a file, a folder or a link with this path.
 * @throws the error of the system if this cannot be known, such as EACCES
 */
export async function isThere(path: string): Promise<boolean> {
  return lstat(path).then(() => true, ifMissing(false));
}
