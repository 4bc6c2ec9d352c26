import { join } from 'node:path';
import type { DuckDBConnection } from '@duckdb/node-api';
import { syncPath } from '../lib/durable-files.ts';
import { sqlName, sqlString } from '../lib/sql-text.ts';
import { analyticsViews } from './analytics-views.ts';
import type { DatasetName } from './datasets.ts';
import type { Commit } from './lake-commit.ts';
import { uniqueName } from './lake-layout.ts';
import type { PublishShard } from './publish-shard.ts';
import type { View } from './view.ts';

/** DuckDB's smallest block size. Each generation has one of these files, which contains only text. */
const BLOCK_BYTES = 16_384;

/**
 * Writes `analytics.duckdb` to a generation's folder: a view for each dataset, with comments on views and columns. The views name the folder of this
 * generation, so a session always sees the same data.
 */
export async function writeAnalytics(
  shard: Pick<PublishShard, 'connect'>,
  root: string,
  commit: Commit,
): Promise<void> {
  const path = join(root, 'analytics.duckdb');
  const catalog = `analytics_${uniqueName(commit.sequence).replace('-', '_')}`;
  const connection = await shard.connect();
  try {
    await connection.run(`ATTACH ${sqlString(path)} AS ${catalog} (BLOCK_SIZE ${BLOCK_BYTES})`);
    try {
      await connection.run('BEGIN');
      for (const view of analyticsViews) await createView(connection, catalog, root, commit, view);
      await connection.run('COMMIT');
    } catch (error) {
      // If COMMIT failed, there is nothing to roll back.
      await connection.run('ROLLBACK').catch(() => {});
      throw error;
    } finally {
      await connection.run(`DETACH ${catalog}`);
    }
  } finally {
    connection.closeSync();
  }
  await syncPath(path);
}

async function createView(
  connection: DuckDBConnection,
  catalog: string,
  root: string,
  commit: Commit,
  view: View,
): Promise<void> {
  const name = `${catalog}.${view.name}`;
  const files = (dataset: DatasetName): string | undefined => {
    // A pattern without files is an error in DuckDB, so a dataset without files gets no rows.
    if (!commit.files.some((file) => file.dataset === dataset)) return undefined;
    const { glob, hive } = analyticsViews.find((one) => one.dataset === dataset)!;
    return `read_parquet(${sqlString(join(root, dataset, glob))}, hive_partitioning = ${hive}${hive ? ', hive_types_autocast = false' : ''})`;
  };
  const own = files(view.dataset) && (view.from ? view.from(files, commit.createdAtMs) : files(view.dataset));
  const columns = view.columns.map((column) =>
    own
      ? `${column.select ?? sqlName(column.name)} AS ${sqlName(column.name)}`
      : `NULL::${column.type} AS ${sqlName(column.name)}`,
  );
  const where = view.where ? ` WHERE ${view.where}` : '';
  const from = own ? `FROM ${own}${where}` : 'WHERE false';
  const statements = [
    `CREATE VIEW ${name} AS SELECT ${columns.join(', ')} ${from}`,
    `COMMENT ON VIEW ${name} IS ${sqlString(view.comment)}`,
    ...view.columns.map(
      (column) => `COMMENT ON COLUMN ${name}.${sqlName(column.name)} IS ${sqlString(column.comment)}`,
    ),
  ];
  await connection.run(statements.join(';\n'));
}
