import type { DuckDBConnection } from '@duckdb/node-api';
import { TerminalError } from '../lib/errors.ts';
import type { Clock } from '../lib/time.ts';
import { loadMigrations, type Migration } from './load-sql.ts';
import { query } from './query.ts';

interface MigrateOptions {
  clock: Clock;
  /** For messages. */
  path: string;
  migrations?: Migration[];
}

interface Applied extends Record<string, number | string> {
  number: number;
  file: string;
  checksum: string;
}

/**
 * Brings the file to the schema of this program. Each migration runs once, in order, in a separate
 * transaction. The write-ahead log is emptied afterwards, because schema changes in it have made files
 * unreadable (duckdb #22044).
 * @returns the numbers of the migrations that ran now
 * @throws TerminalError, with nothing changed, if the file is newer than the program, if an applied migration
 *   was edited, or if the file has tables of another program
 */
export async function migrate(connection: DuckDBConnection, options: MigrateOptions): Promise<number[]> {
  const { clock, path, migrations = loadMigrations() } = options;
  const applied = await readApplied(connection, path);
  checkApplied(applied, migrations, path);
  const pending = migrations.slice(applied.length);
  for (const migration of pending) {
    await connection.run('BEGIN');
    try {
      if (migration.number === 1) await query(connection, 'land/create_migration_table');
      await connection.run(migration.sql);
      await query(connection, 'land/store_migration', {
        number: migration.number,
        file: migration.file,
        checksum: migration.checksum,
        applied_at_ms: clock.now(),
      });
      await connection.run('COMMIT');
    } catch (error) {
      // If COMMIT failed, the transaction is over already.
      await connection.run('ROLLBACK').catch(() => {});
      throw error;
    }
  }
  if (pending.length > 0) await connection.run('CHECKPOINT');
  return pending.map(({ number }) => number);
}

/**
 * Checks the schema of a file that is only read.
 * @throws TerminalError if it is not exactly the version of this program
 */
export async function checkSchema(connection: DuckDBConnection, path: string): Promise<void> {
  const migrations = loadMigrations();
  const applied = await readApplied(connection, path);
  checkApplied(applied, migrations, path);
  if (applied.length < migrations.length) {
    throw new TerminalError(
      'WarehouseTooOld',
      `${path} has schema ${applied.length}, but this Wattline needs schema ${migrations.length}; start "wattline worker" once, which updates the file`,
      { details: { path, fileSchema: applied.length, programSchema: migrations.length } },
    );
  }
}

async function readApplied(connection: DuckDBConnection, path: string): Promise<Applied[]> {
  const tables = await query<{ table_name: string }>(connection, 'land/find_tables');
  if (tables.length === 0) return [];
  if (!tables.some(({ table_name }) => table_name === 'schema_migration')) {
    throw new TerminalError(
      'NotAWarehouse',
      `${path} is a DuckDB file of another program (it has a table ${tables[0]!.table_name}); move it away`,
      { details: { path } },
    );
  }
  return query<Applied>(connection, 'land/find_migrations');
}

function checkApplied(applied: Applied[], known: Migration[], path: string): void {
  for (const [index, row] of applied.entries()) {
    const migration = known[index];
    if (migration === undefined) {
      throw new TerminalError(
        'WarehouseTooNew',
        `${path} has schema ${applied.at(-1)!.number}, but this Wattline knows only schemas up to ${known.length}; upgrade Wattline`,
        { details: { path, fileSchema: applied.at(-1)!.number, programSchema: known.length } },
      );
    }
    if (row.number !== migration.number || row.checksum !== migration.checksum) {
      throw new TerminalError(
        'MigrationChanged',
        `${path}: migration ${row.file} was changed after it had been applied; put the released file back and ` +
          'write the change as a new migration',
        { details: { path, file: row.file } },
      );
    }
  }
}
