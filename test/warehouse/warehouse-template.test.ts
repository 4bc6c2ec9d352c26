// @module-tag slow
import { copyFileSync, existsSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { expect, test } from 'vitest';
import { silentLogger } from '../../src/lib/logger.ts';
import { loadMigrations } from '../../src/warehouse/load-sql.ts';
import { openShard, type Shard } from '../../src/warehouse/shard.ts';
import { createFromTemplate } from '../../src/warehouse/warehouse-template.ts';
import { tempDir } from '../support/temp-dir.ts';
import { NOW_MS } from './batches.ts';

/** A schema that no other test uses, so this process has no template of it yet. */
function ownSchema(name: string) {
  const folder = tempDir();
  const released = loadMigrations();
  for (const { file, sql } of released) writeFileSync(join(folder, file), sql);
  const number = String(released.length + 1).padStart(3, '0');
  writeFileSync(join(folder, `${number}_extra.sql`), `CREATE TABLE ${name} (x INTEGER)`);
  return loadMigrations(folder);
}

async function open(workgroupId: string, more: { path?: string; migrations: ReturnType<typeof ownSchema> }) {
  const opened: unknown[] = [];
  const logger = { ...silentLogger, info: (event: unknown) => opened.push(event) };
  const shard = await openShard({
    path: join(tempDir(), 'data', `${workgroupId}.duckdb`),
    workgroupId,
    memoryMegabytes: 256,
    threads: 1,
    clock: { now: () => NOW_MS },
    logger,
    ...more,
  });
  return { shard, migrationsRun: (opened[0] as { migrations: number[] }).migrations };
}

/**
 * Everything that a file stores: tables with comments, columns, defaults, constraints, views, macros,
 * sequences, types, and all rows.
 */
async function contentOf(shard: Shard) {
  const statements = {
    tables: `SELECT * EXCLUDE (database_name, database_oid, schema_oid, table_oid, estimated_size) FROM duckdb_tables() WHERE NOT internal`,
    columns: `SELECT * EXCLUDE (database_name, database_oid, schema_oid, table_oid) FROM duckdb_columns() WHERE NOT internal`,
    constraints: `SELECT * EXCLUDE (database_name, database_oid, schema_oid, table_oid) FROM duckdb_constraints() WHERE true`,
    indexes: `SELECT * EXCLUDE (database_name, database_oid, schema_oid, table_oid, index_oid) FROM duckdb_indexes() WHERE true`,
    views: `SELECT * EXCLUDE (database_name, database_oid, schema_oid, view_oid) FROM duckdb_views() WHERE NOT internal`,
    sequences: `SELECT * EXCLUDE (database_name, database_oid, schema_oid, sequence_oid) FROM duckdb_sequences() WHERE true`,
    macros: `SELECT schema_name, function_name, parameters, macro_definition FROM duckdb_functions() WHERE NOT internal`,
    types: `SELECT schema_name, type_name, logical_type, labels FROM duckdb_types() WHERE NOT internal`,
  };
  return shard.read(async (connection) => {
    const rows = async (sql: string) => {
      const reader = await connection.runAndReadAll(sql);
      return reader
        .getRowsJson()
        .map((row) => JSON.stringify(row))
        .sort();
    };
    const content: Record<string, string[]> = {};
    for (const [name, sql] of Object.entries(statements))
      content[name] = await rows(`${sql} AND database_name = current_database()`);
    const tables = await rows(
      'SELECT table_name FROM duckdb_tables() WHERE database_name = current_database() AND NOT internal',
    );
    for (const table of tables) {
      const [name] = JSON.parse(table) as [string];
      content[`rows of ${name}`] = await rows(`FROM "${name}"`);
    }
    content.settings = await rows(
      "SELECT name, value FROM duckdb_settings() WHERE name NOT IN ('temp_directory', 'allowed_directories', 'allowed_paths')",
    );
    content.version = await rows(
      'SELECT tags FROM duckdb_databases() WHERE database_name = current_database()',
    );
    return content;
  });
}

test('a warehouse that is copied from the template has the content and the settings of a migrated warehouse', async () => {
  const migrations = ownSchema('same_content');
  const migrated = await open('acme', { migrations });
  const copied = await open('acme', { migrations });
  expect(migrated.migrationsRun).toHaveLength(migrations.length);
  expect(copied.migrationsRun).toEqual([]);
  const [one, other] = [await contentOf(migrated.shard), await contentOf(copied.shard)];
  expect(one.tables!.length).toBeGreaterThan(20);
  expect(one['rows of schema_migration']).toHaveLength(migrations.length);
  expect(other).toEqual(one);

  for (const { shard } of [migrated, copied]) await shard.close();
  // It opens again, and is its own workgroup's.
  const again = await open('acme', { migrations, path: copied.shard.path });
  expect([again.migrationsRun, again.shard.epoch]).toEqual([[], 2n]);
  await again.shard.close();
  await expect(open('other', { migrations, path: copied.shard.path })).rejects.toMatchObject({
    code: 'WrongWorkgroup',
  });
});

test('the template has nothing of the workgroup of the original file, and leaves no draft behind', async () => {
  const migrations = ownSchema('nothing_left');
  const first = await open('first', { migrations });
  await first.shard.transaction((connection) => connection.run("INSERT INTO name VALUES (1, 'of first')"));
  await first.shard.close();
  // A file that has rows already becomes no template when it is opened.
  const again = await open('first', { migrations, path: first.shard.path });
  const second = await open('second', { migrations });
  const owners = await second.shard.read(async (connection) =>
    (await connection.runAndReadAll('SELECT workgroup_id, owner_epoch FROM shard')).getRows(),
  );
  expect(owners).toEqual([['second', 1n]]);
  expect(await contentOf(second.shard)).toMatchObject({ 'rows of name': [] });
  expect(readdirSync(dirname(second.shard.path)).filter((name) => !name.startsWith('second.duckdb'))).toEqual(
    [],
  );
  expect(readdirSync(dirname(second.shard.path)).filter((name) => name.endsWith('.draft'))).toEqual([]);
  expect(statSync(second.shard.path).mode).toBe(statSync(first.shard.path).mode);
  for (const { shard } of [again, second]) await shard.close();
});

test('another schema has another template', async () => {
  const older = await open('acme', { migrations: ownSchema('older') });
  const newer = await open('acme', { migrations: ownSchema('newer') });
  expect(newer.migrationsRun.length).toBeGreaterThan(0);
  for (const { shard } of [older, newer]) await shard.close();
});

test('a file that exists is not replaced, and a write-ahead log without its file gets no file', async () => {
  const migrations = ownSchema('not_replaced');
  const first = await open('acme', { migrations });
  await first.shard.close();
  const foreign = join(tempDir(), 'foreign.duckdb');
  const instance = await DuckDBInstance.create(foreign);
  const connection = await instance.connect();
  await connection.run('CREATE TABLE of_somebody (x INTEGER)');
  connection.closeSync();
  instance.closeSync();
  await expect(open('acme', { migrations, path: foreign })).rejects.toMatchObject({ code: 'NotAWarehouse' });

  const path = join(tempDir(), 'lost.duckdb');
  copyFileSync(first.shard.path, `${path}.wal`);
  expect(await createFromTemplate(path, migrations)).toBe(false);
  expect(existsSync(path)).toBe(false);
  expect(await createFromTemplate(first.shard.path, migrations)).toBe(false);
  expect(await createFromTemplate(join(tempDir(), 'new.duckdb'), migrations)).toBe(true);
});
