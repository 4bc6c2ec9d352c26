import { renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { watchWarehouseFile } from '../../src/pipeline/watch-warehouse-file.ts';
import { tempDir } from '../support/temp-dir.ts';

test('a warehouse that was written is the same file, and one that was replaced or deleted is gone', () => {
  const folder = tempDir();
  const path = join(folder, 'acme.duckdb');
  writeFileSync(path, 'one');
  const check = watchWarehouseFile(path);
  writeFileSync(path, 'more');
  check();
  writeFileSync(join(folder, 'other'), 'one');
  renameSync(join(folder, 'other'), path);
  expect(check).toThrow(expect.objectContaining({ code: 'WarehouseGone' }));
  expect(check).toThrow('was replaced while');
  rmSync(path);
  expect(check).toThrow('was deleted while');
});
