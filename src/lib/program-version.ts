import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** The version of Wattline, from the nearest package.json above this file, in `src` and in `dist/src`. */
export const programVersion: string = JSON.parse(
  readFileSync(packageFile(import.meta.dirname), 'utf8'),
).version;

function packageFile(folder: string): string {
  const file = join(folder, 'package.json');
  return existsSync(file) || dirname(folder) === folder ? file : packageFile(dirname(folder));
}
