import { type FileHandle, stat } from 'node:fs/promises';
import type { DuckDBConnection } from '@duckdb/node-api';
import { errorMessage, TransientError } from '../lib/errors.ts';
import type { Logger } from '../lib/logger.ts';
import { SECOND_MS } from '../lib/time.ts';
import type { Database } from './database.ts';
import { isInvalidated, warehouseFailure } from './warehouse-failures.ts';

/**
 * A database that opens again by itself after a failure that invalidates it, such as a checkpoint on a full
 * disk. It can also be opened again without a failure.
 */
interface RecoveringDatabase {
  connect(): Promise<DuckDBConnection>;
  /** The descriptor of the open file, see `Database.file`. It changes when the database is opened again. */
  file(): FileHandle;
  /** Receives every error, to notice when the database is invalidated. @returns one of our errors for it */
  note(error: unknown): Error;
  /**
   * Closes the file and opens it again, which frees memory. Calls of `connect` wait meanwhile. After a
   * failure the next call of `connect` tries to open it, as after any loss.
   * @returns false if it is in use; then nothing has happened
   */
  renew(): Promise<boolean>;
  /** Waits for all users, empties the write-ahead log and closes the file. A second call does nothing. */
  close(): Promise<void>;
}

interface RecoveryOptions {
  path: string;
  workgroupId: string;
  logger: Logger;
  open(): Promise<Database>;
  /** Closes kept connections that are not in use, because they no longer work. */
  onLost(): void;
  /** Closes the kept connections, so that the database can be closed. */
  onReopen(): void;
  /** Checks that this process still owns the file after it was opened again. Throws if not. */
  check(connection: DuckDBConnection): Promise<void>;
}

const USERS_WAIT_MS_MAX = 10 * SECOND_MS;
/**
 * The longest wait for users at the end. It is short, because a process that ends has little time.
 * Interrupted work is done again from the checkpoint.
 */
const CLOSE_WAIT_MS_MAX = 3 * SECOND_MS;

export function createRecoveringDatabase(opened: Database, options: RecoveryOptions): RecoveringDatabase {
  const { path, workgroupId, logger } = options;
  let database: Database | undefined = opened;
  let isLost = false;
  let reopening: Promise<void> | undefined;

  async function connect(): Promise<DuckDBConnection> {
    if (database === undefined) throw closedFailure(workgroupId);
    if (isLost) await openAgain(() => logger.warn({ workgroup: workgroupId }, 'shard.reopened'));
    if (database === undefined) throw closedFailure(workgroupId);
    return database.connect();
  }

  /** Opens the file once for all who wait. */
  function openAgain(report: () => void): Promise<void> {
    reopening ??= reopen()
      .then(report)
      .finally(() => {
        reopening = undefined;
      });
    return reopening;
  }

  async function reopen(): Promise<void> {
    const lost = database;
    if (lost === undefined) throw closedFailure(workgroupId);
    options.onReopen();
    await lost.waitUntilIdle(USERS_WAIT_MS_MAX);
    await lost.close();
    const again = await options.open();
    try {
      await onConnection(again, options.check);
      if (database !== lost) throw closedFailure(workgroupId);
    } catch (error) {
      await again.close();
      throw warehouseFailure(error, path);
    }
    database = again;
    isLost = false;
  }

  /**
   * False if the file was deleted or replaced. Then the path must not be opened, because that would create an
   * empty file there.
   */
  async function isInPlace({ file }: Database): Promise<boolean> {
    const [held, named] = await Promise.all([file?.stat(), stat(path).catch(() => undefined)]);
    return held !== undefined && held.ino === named?.ino && held.dev === named.dev;
  }

  return {
    connect,
    file() {
      if (database?.file === undefined) throw closedFailure(workgroupId);
      return database.file;
    },
    note(error) {
      if (isInvalidated(error)) {
        isLost = true;
        options.onLost();
      }
      return warehouseFailure(error, path);
    },
    async renew() {
      const open = database;
      if (open === undefined || isLost || !(await isInPlace(open))) return false;
      options.onReopen();
      if (open !== database || isLost || open.isInUse()) return false;
      isLost = true;
      await openAgain(() => logger.info({ workgroup: workgroupId }, 'shard.renewed'));
      return true;
    },
    async close() {
      const open = database;
      database = undefined;
      await reopening?.catch(() => undefined);
      if (open === undefined) return;
      await open.waitUntilIdle(CLOSE_WAIT_MS_MAX);
      try {
        if (!isLost) await onConnection(open, (connection) => connection.run('CHECKPOINT'));
      } catch (error) {
        // Nothing is lost, because the next opening reads the write-ahead log.
        logger.warn({ workgroup: workgroupId, error: errorMessage(error) }, 'shard.checkpoint-failed');
      }
      await open.close();
    },
  };
}

export async function onConnection<Result>(
  database: Pick<Database, 'connect'>,
  work: (connection: DuckDBConnection) => Promise<Result>,
): Promise<Result> {
  const connection = await database.connect();
  try {
    return await work(connection);
  } finally {
    connection.closeSync();
  }
}

export function closedFailure(workgroupId: string): TransientError {
  return new TransientError('WarehouseClosed', `the warehouse of ${workgroupId} is closed; open it again`);
}
