import { findPackageJSON } from 'node:module';
import { dirname } from 'node:path';

/** The folder of the nearest package.json above this file, in `src` and in `dist/src`. */
export const packageFolder: string = dirname(findPackageJSON(import.meta.url)!);
