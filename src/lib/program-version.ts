import { readFileSync } from 'node:fs';
import { findPackageJSON } from 'node:module';

/** The version of Wattline, from the nearest package.json above this file, in `src` and in `dist/src`. */
export const programVersion: string = JSON.parse(
  readFileSync(findPackageJSON(import.meta.url)!, 'utf8'),
).version;
