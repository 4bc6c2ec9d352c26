import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { packageFolder } from './package-folder.ts';

/** The version of Wattline. */
export const programVersion: string = JSON.parse(
  readFileSync(join(packageFolder, 'package.json'), 'utf8'),
).version;
