import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import type { NameTable } from '../decode/message-columns.ts';
import { createNameTable } from '../decode/name-table.ts';
import { errorCode } from '../lib/errors.ts';
import type { Logger } from '../lib/logger.ts';
import type { Clock } from '../lib/time.ts';
import { type Checkpoint, readCheckpoints } from './checkpoint.ts';
import { type Database, openDatabase } from './database.ts';
import { loadMigrations, type Migration } from './load-sql.ts';
import { migrate } from './migrate.ts';
import { takeOwnership } from './ownership.ts';
import { query } from './query.ts';
import { onConnection } from './recovering-database.ts';
import { warehouseFailure } from './warehouse-failures.ts';
import { createFromTemplate, keepTemplate } from './warehouse-template.ts';

/** The file of a workgroup, and how to open it. */
export interface FileOptions {
  /** The DuckDB file. It is created, with its folder, if it does not exist. */
  path: string;
  workgroupId: string;
  memoryMegabytes: number;
  /** The threads of `withAllThreads`. All other work has one. */
  threads: number;
  /** The maximum number of names of tables, sources and fields. Default: 100,000. */
  namesMax?: number;
  /** The maximum number of names of tables among these names. Default: no separate limit. */
  tablesMax?: number;
  /** Tables that always land, because the configuration names them. */
  neededTables?: readonly string[];
  /**
   * Folders in which statements can read and write files, such as the lake. They have no access to the rest
   * of the disk.
   */
  folders?: readonly string[];
  /** See `DatabaseOptions`. */
  lockWaitMs?: number;
  /** The epoch of the lease. Without one, the epoch of the file is raised by one. */
  epoch?: bigint;
  /** The schema; default: the version of this program. */
  migrations?: Migration[];
  clock: Clock;
  logger: Logger;
}

/** What is known about a file that is ready for its owner. */
interface Prepared {
  epoch: bigint;
  /** The migrations that were run. */
  migrations: number[];
  names: NameTable;
  checkpoints: Map<string, Checkpoint>;
  /** 0 if nothing has landed. */
  lastBatchId: number;
}

/** Opens the file. Statements have one thread, except in `withAllThreads`. */
export function openFile(options: FileOptions): Promise<Database> {
  return openDatabase({ ...options, threads: 1 });
}

/**
 * Creates the file if it does not exist, opens it, migrates it and takes ownership of it. After a failure the
 * file is closed again.
 * @throws as `openShard` does
 */
export async function openPrepared(options: FileOptions): Promise<{ file: Database; prepared: Prepared }> {
  const { path, migrations = loadMigrations() } = options;
  await createFromTemplate(path, migrations).catch((error: unknown) => {
    throw warehouseFailure(error, path);
  });
  const isNew = !existsSync(path);
  const file = await openFile(options).catch(async (error: unknown) => {
    // A new file that did not fit on the disk is deleted. It is not a complete warehouse, so every later
    // opening would refuse it.
    if (isNew && errorCode(error) === 'DiskFull') await rm(path, { force: true });
    throw error;
  });
  try {
    return { file, prepared: await prepareFile(file, { ...options, migrations }) };
  } catch (error) {
    await file.close();
    throw warehouseFailure(error, path);
  }
}

/** Migrates the file, takes ownership, and reads the state from which landing starts. */
async function prepareFile(
  file: Database,
  options: FileOptions & { migrations: Migration[] },
): Promise<Prepared> {
  return onConnection(file, async (connection) => {
    const migrations = await migrate(connection, options);
    const isNew = migrations.length === options.migrations.length;
    if (isNew && file.file) await keepTemplate(file.file, options.migrations);
    const epoch = await takeOwnership(connection, options);
    const names = await query<{ name_id: number; name: string; is_table: boolean }>(
      connection,
      'land/find_names',
    );
    const tables = names.filter((row) => row.is_table).map((row) => row.name);
    const [last] = await query<{ batch_id: bigint }>(connection, 'land/find_last_batch');
    return {
      epoch,
      migrations,
      names: createNameTable(
        names.map((row) => ({ id: row.name_id, name: row.name })),
        { ...options, tables },
      ),
      lastBatchId: Number(last?.batch_id ?? 0),
      checkpoints: await readCheckpoints(connection),
    };
  });
}
