import { existsSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type DuckDBConnection, DuckDBInstance } from '@duckdb/node-api';
import { expect, onTestFinished, test } from 'vitest';
import { TerminalError } from '../../src/lib/errors.ts';
import { loadMigrations, type Migration } from '../../src/warehouse/load-sql.ts';
import { migrate } from '../../src/warehouse/migrate.ts';
import { tempDir } from '../support/temp-dir.ts';
import { NOW_MS } from './batches.ts';

const clock = { now: () => NOW_MS };

async function openFile(path = join(tempDir(), 'file.duckdb')): Promise<DuckDBConnection> {
  const instance = await DuckDBInstance.create(path);
  const connection = await instance.connect();
  onTestFinished(() => {
    connection.closeSync();
    instance.closeSync();
  });
  return connection;
}

function migrations(...texts: string[]): Migration[] {
  const folder = tempDir();
  for (const [index, text] of texts.entries()) writeFileSync(join(folder, `00${index + 1}_step.sql`), text);
  return loadMigrations(folder);
}

async function tables(connection: DuckDBConnection): Promise<string[]> {
  const reader = await connection.runAndReadAll('SELECT table_name FROM duckdb_tables() ORDER BY table_name');
  return reader.getRows().map(([name]) => String(name));
}

test('each migration is applied once, and what was applied is recorded', async () => {
  const connection = await openFile();
  const first = migrations('CREATE TABLE a (x INTEGER); INSERT INTO a VALUES (1)');
  expect(await migrate(connection, { clock, path: 'file', migrations: first })).toEqual([1]);
  expect(await migrate(connection, { clock, path: 'file', migrations: first })).toEqual([]);

  const second = migrations(first[0]!.sql, 'CREATE TABLE b (x INTEGER)');
  expect(await migrate(connection, { clock, path: 'file', migrations: second })).toEqual([2]);
  expect(await tables(connection)).toEqual(['a', 'b', 'schema_migration']);
  const reader = await connection.runAndReadAll('SELECT number, file, applied_at_ms FROM schema_migration');
  expect(reader.getRows()).toEqual([
    [1, '001_step.sql', BigInt(NOW_MS)],
    [2, '002_step.sql', BigInt(NOW_MS)],
  ]);
});

test('nothing of the schema is left in the write-ahead log', async () => {
  const path = join(tempDir(), 'file.duckdb');
  const connection = await openFile(path);
  await migrate(connection, { clock, path, migrations: migrations('CREATE TABLE a (x INTEGER)') });
  expect(existsSync(`${path}.wal`) ? statSync(`${path}.wal`).size : 0).toBe(0);
});

test('a failing migration is rolled back, and the migrations before it stay', async () => {
  const connection = await openFile();
  const broken = migrations(
    'CREATE TABLE a (x INTEGER)',
    'CREATE TABLE b (x INTEGER); SELECT * FROM missing',
  );
  await expect(migrate(connection, { clock, path: 'file', migrations: broken })).rejects.toThrow(/missing/);
  expect(await tables(connection)).toEqual(['a', 'schema_migration']);

  const mended = migrations('CREATE TABLE a (x INTEGER)', 'CREATE TABLE b (x INTEGER)');
  expect(await migrate(connection, { clock, path: 'file', migrations: mended })).toEqual([2]);
});

test('a file of a newer Wattline is refused with advice, and is not changed', async () => {
  const connection = await openFile();
  const known = migrations('CREATE TABLE a (x INTEGER)', 'CREATE TABLE b (x INTEGER)');
  await migrate(connection, { clock, path: '/data/acme.duckdb', migrations: known });
  const older = migrate(connection, { clock, path: '/data/acme.duckdb', migrations: known.slice(0, 1) });
  await expect(older).rejects.toThrow(TerminalError);
  await expect(older).rejects.toThrow(
    '/data/acme.duckdb has schema 2, but this Wattline knows only schemas up to 1; upgrade Wattline',
  );
});

test('a migration that was edited after it had been applied is refused by name', async () => {
  const connection = await openFile();
  await migrate(connection, { clock, path: 'file', migrations: migrations('CREATE TABLE a (x INTEGER)') });
  const edited = migrations('CREATE TABLE a (x BIGINT)', 'CREATE TABLE b (x INTEGER)');
  await expect(migrate(connection, { clock, path: 'file', migrations: edited })).rejects.toThrow(
    /001_step\.sql was changed after it had been applied/,
  );
  expect(await tables(connection)).toEqual(['a', 'schema_migration']);
});

test('a DuckDB file of something else is refused and stays as it is', async () => {
  const connection = await openFile();
  await connection.run('CREATE TABLE invoices (x INTEGER)');
  const attempt = migrate(connection, { clock, path: 'file', migrations: migrations('SELECT 1') });
  await expect(attempt).rejects.toThrow(/another program \(it has a table invoices\)/);
  expect(await tables(connection)).toEqual(['invoices']);
});
