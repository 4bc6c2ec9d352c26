import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { expect, test } from 'vitest';
import { sqlString } from '../../src/lib/sql-text.ts';
import { folderValue } from '../../src/publish/lake-layout.ts';
import { tempDir } from '../support/temp-dir.ts';

test('a reader of Hive folders reads every value back as it is', async () => {
  const instance = await DuckDBInstance.create(':memory:');
  const connection = await instance.connect();
  const root = tempDir();
  const texts = [
    'NULL',
    'null',
    'Null',
    '__HIVE_DEFAULT_PARTITION__',
    'solar',
    '1e5',
    'true',
    'a.b-c_d',
    'ä*?',
  ];
  for (const text of texts) {
    const folder = join(root, `table=${folderValue(text)}`);
    mkdirSync(folder);
    const file = sqlString(join(folder, 'a.parquet'));
    await connection.run(`COPY (SELECT 1 AS x) TO ${file}`);
    const read = await connection.runAndReadAll(
      `SELECT "table" FROM read_parquet([${file}], hive_partitioning = true, hive_types_autocast = false)`,
    );
    expect(read.getRows()).toEqual([[text]]);
  }
  connection.closeSync();
  instance.closeSync();
});
