import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { served } from './open-page.ts';

/** Rows of the Parquet files of a workgroup, as columns of texts and numbers. */
export async function readLake(workgroupId: string, sql: (dataset: (name: string) => string) => string) {
  const current = join(served().dataDir, 'lake', workgroupId, 'current');
  const instance = await DuckDBInstance.create();
  try {
    const connection = await instance.connect();
    await connection.run(`ATTACH '${join(current, 'analytics.duckdb')}' AS views (READ_ONLY)`);
    const files = (name: string) =>
      `read_parquet('${join(current, name, '**', '*.parquet')}', hive_partitioning = true)`;
    return (await connection.runAndReadAll(sql(files))).getRowsJS() as Array<Array<string | number | null>>;
  } finally {
    instance.closeSync();
  }
}
