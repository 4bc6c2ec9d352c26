import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { tempDir } from '../support/temp-dir.ts';
import { usesService } from './support/uses-service.ts';

test('the service of the page is started only if one of its tests runs', () => {
  const folder = tempDir();
  const write = (name: string, text: string) => {
    const path = join(folder, name);
    writeFileSync(path, text);
    return path;
  };
  const usual = write('usual.page.test.ts', "testPage('a', run);\ntestPageInFull('b', run);\n");
  const inFull = write('full.page.test.ts', "testPageInFull('c', run);\n");
  const other = write('other.test.ts', "test('testPage', run);\n");
  const inUsualAndFull = (paths: readonly string[]) =>
    [false, true].map((isFull) => usesService(paths, { isFull }));
  expect(inUsualAndFull([usual])).toEqual([true, true]);
  expect(inUsualAndFull([inFull])).toEqual([false, true]);
  expect(inUsualAndFull([other])).toEqual([false, false]);
  expect(inUsualAndFull([other, inFull, usual])).toEqual([true, true]);
});
