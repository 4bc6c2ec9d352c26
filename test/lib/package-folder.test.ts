import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { programRoot } from '../support/program-folder.ts';
import { tempDir } from '../support/temp-dir.ts';

test('the built program finds the package, although dist has a package.json, too', () => {
  const folder = tempDir();
  mkdirSync(join(folder, 'sql', 'schema'), { recursive: true });
  for (const path of ['package.json', 'src/lib'])
    cpSync(join(programRoot, path), join(folder, 'dist', path), { recursive: true });
  writeFileSync(join(folder, 'package.json'), '{}');
  const module = join(folder, 'dist/src/lib/package-folder.ts');
  const code = `import(${JSON.stringify(module)}).then(({ packageFolder }) => console.log(packageFolder))`;
  expect(execFileSync(process.execPath, ['-e', code], { encoding: 'utf8' }).trim()).toBe(folder);
});
