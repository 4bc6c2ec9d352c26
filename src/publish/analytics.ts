import { rename, rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { DuckDBConnection } from '@duckdb/node-api';
import { syncPath } from '../lib/durable-files.ts';
import { sqlName, sqlString } from '../lib/sql-text.ts';
import { queryText } from '../warehouse/query.ts';
import { analyticsViews } from './analytics-views.ts';
import type { Commit, LakeFile } from './commit-schema.ts';
import { analyticsPath, fileKey, filePath, type LakePaths, uniqueName } from './lake-layout.ts';
import type { FilesOf, View } from './lake-view.ts';
import type { PublishableShard } from './publishable-shard.ts';

/** DuckDB's smallest block size. The file contains only text. */
const BLOCK_BYTES = 16_384;
/**
 * The schema of the views that list files. Another view names a file list by them, so each list is in the
 * file once.
 */
const FILES_SCHEMA = 'lake_files';
/** The variable of a session with the place of the lake. */
const LAKE_VARIABLE = 'lake';

/** A file of a generation as an SQL expression, for views. */
type FileExpression = (file: LakeFile) => string;

/**
 * Writes the views of a generation to `analytics/<sequence>.duckdb`, with comments on views and columns. The
 * views name the files of this generation by absolute path, so a session always sees the same data. The file
 * appears as a whole.
 */
export async function writeAnalytics(
  shard: Pick<PublishableShard, 'connect'>,
  paths: LakePaths,
  commit: Commit,
): Promise<void> {
  const staged = stagedPath(paths, commit);
  try {
    await createDatabase(shard, staged, commit, (file) => sqlString(filePath(paths, file)));
    await syncPath(staged);
    await rename(staged, analyticsPath(paths, commit.sequence));
    await syncPath(paths.analytics);
  } finally {
    await rm(staged, { force: true });
  }
}

/**
 * Writes the same views for another place of the lake: the files are named by the variable `lake`, which a
 * session sets to the folder or the address above `files/`. DuckDB reads a file of each dataset to create the
 * views, so the files of the commit must be in the local lake.
 * @returns the file, which is deleted when the result is disposed
 */
export async function stageMovableAnalytics(
  shard: Pick<PublishableShard, 'connect'>,
  paths: LakePaths,
  commit: Commit,
): Promise<AsyncDisposable & { path: string }> {
  const path = stagedPath(paths, commit);
  const remove = () => rm(path, { force: true });
  try {
    await createDatabase(
      shard,
      path,
      commit,
      (file) => `getvariable('${LAKE_VARIABLE}') || ${sqlString(`/${fileKey(file)}`)}`,
      { [LAKE_VARIABLE]: paths.root },
    );
  } catch (error) {
    await remove();
    throw error;
  }
  return { path, [Symbol.asyncDispose]: remove };
}

function stagedPath(paths: LakePaths, { sequence }: Commit): string {
  return join(paths.staging, `${uniqueName(sequence)}.duckdb`);
}

async function createDatabase(
  shard: Pick<PublishableShard, 'connect'>,
  path: string,
  commit: Commit,
  fileSql: FileExpression,
  variables: Readonly<Record<string, string>> = {},
): Promise<void> {
  const catalog = `analytics_${basename(path, '.duckdb').replace('-', '_')}`;
  const connection = await shard.connect();
  try {
    for (const [name, value] of Object.entries(variables))
      await connection.run(`SET VARIABLE ${name} = ${sqlString(value)}`);
    await connection.run(`ATTACH ${sqlString(path)} AS ${catalog} (BLOCK_SIZE ${BLOCK_BYTES})`);
    try {
      const [home] = await queryText<{ name: string }>(connection, 'SELECT current_catalog() AS name');
      // Views name each other without the catalog, because people attach the file under any name.
      await connection.run(`USE ${catalog}`);
      try {
        await createViews(connection, commit, fileSql);
      } finally {
        await connection.run(`USE ${sqlName(home!.name)}`);
      }
    } finally {
      await connection.run(`DETACH ${catalog}`);
    }
  } finally {
    connection.closeSync();
  }
}

async function createViews(
  connection: DuckDBConnection,
  commit: Commit,
  fileSql: FileExpression,
): Promise<void> {
  const byDataset = Map.groupBy(commit.files, ({ dataset }) => dataset);
  // A list without files is an error in DuckDB, so a dataset without files has no view of them.
  const filesOf: FilesOf = (dataset) =>
    byDataset.has(dataset) ? `${FILES_SCHEMA}.${sqlName(dataset)}` : undefined;
  await connection.run('BEGIN');
  try {
    await connection.run(`CREATE SCHEMA ${FILES_SCHEMA}`);
    for (const [dataset, files] of byDataset) {
      const list = files.map(fileSql).join(', ');
      // Partitions are text, and only some datasets have them.
      const hive = files[0]!.folder === '' ? 'false' : 'true, hive_types_autocast = false';
      const name = `${FILES_SCHEMA}.${sqlName(dataset)}`;
      await connection.run(
        `CREATE VIEW ${name} AS FROM read_parquet([${list}], hive_partitioning = ${hive});
        COMMENT ON VIEW ${name} IS 'The rows of the files of ${dataset}, with the partitions of their folders. A filter on these reads fewer files'`,
      );
    }
    for (const view of analyticsViews) await connection.run(viewSql(view, filesOf, commit));
    await connection.run('COMMIT');
  } catch (error) {
    // If COMMIT failed, there is nothing to roll back.
    await connection.run('ROLLBACK').catch(() => {});
    throw error;
  }
}

/** One text for a view and its comments, because each call costs more than a comment. */
function viewSql(view: View, files: FilesOf, commit: Commit): string {
  const own = files(view.dataset) && (view.from ? view.from(files, commit.createdAtMs) : files(view.dataset));
  const columns = view.columns.map((column) =>
    own
      ? `${column.select ?? sqlName(column.name)} AS ${sqlName(column.name)}`
      : `NULL::${column.type} AS ${sqlName(column.name)}`,
  );
  const where = view.where ? ` WHERE ${view.where}` : '';
  const from = own ? `FROM ${own}${where}` : 'WHERE false';
  return [
    `CREATE VIEW ${view.name} AS SELECT ${columns.join(', ')} ${from}`,
    `COMMENT ON VIEW ${view.name} IS ${sqlString(view.comment)}`,
    ...view.columns.map(
      (column) => `COMMENT ON COLUMN ${view.name}.${sqlName(column.name)} IS ${sqlString(column.comment)}`,
    ),
  ].join(';\n');
}
