import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** The version of this Wattline, from the nearest package.json above: the same whether it runs from `src` or from `dist/src`. */
export const programVersion: string = JSON.parse(
  readFileSync(packageFile(import.meta.dirname), 'utf8'),
).version;

function packageFile(folder: string): string {
  const file = join(folder, 'package.json');
  return existsSync(file) || dirname(folder) === folder ? file : packageFile(dirname(folder));
}
