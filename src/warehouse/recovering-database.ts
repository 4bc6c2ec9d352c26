import type { DuckDBConnection } from '@duckdb/node-api';
import { errorMessage, TransientError } from '../lib/errors.ts';
import type { Logger } from '../lib/logger.ts';
import type { Database } from './database.ts';
import { isInvalidated, warehouseFailure } from './warehouse-failures.ts';

/** A database that opens itself again after a failure that DuckDB gives it up for, such as a checkpoint on a full disk. */
export interface RecoveringDatabase {
  connect(): Promise<DuckDBConnection>;
  /** Hears of everything that was thrown, to know when the database is lost. @returns one of our errors for it */
  note(error: unknown): Error;
  /** Waits for whoever uses it, empties the write-ahead log and lets the file go. Doing it again does nothing. */
  close(): Promise<void>;
}

export interface RecoveryOptions {
  path: string;
  workgroupId: string;
  logger: Logger;
  open(): Promise<Database>;
  /** Gives back the connections that are kept and not in use: nothing can be done on them any more. */
  onLost(): void;
  /** Gives back the connections that are kept, so that the database can be closed. */
  onReopen(): void;
  /** Looks whether the file, once it is open again, is still ours; throws where it is not. */
  check(connection: DuckDBConnection): Promise<void>;
}

const USERS_WAIT_MS_MAX = 10_000;
/** A process that ends has little time; what is interrupted is done again from the checkpoint. */
const CLOSE_WAIT_MS_MAX = 3_000;

export function recovering(opened: Database, options: RecoveryOptions): RecoveringDatabase {
  const { path, workgroupId, logger } = options;
  let database: Database | undefined = opened;
  let isLost = false;
  let reopening: Promise<Database> | undefined;

  async function connect(): Promise<DuckDBConnection> {
    if (database === undefined) throw closedFailure(workgroupId);
    if (isLost) {
      reopening ??= reopen(database).finally(() => {
        reopening = undefined;
      });
      database = await reopening;
    }
    return database.connect();
  }

  async function reopen(lost: Database): Promise<Database> {
    options.onReopen();
    await lost.idle(USERS_WAIT_MS_MAX);
    await lost.close();
    const again = await options.open();
    try {
      await onConnection(again, options.check);
    } catch (error) {
      await again.close();
      throw warehouseFailure(error, path);
    }
    isLost = false;
    logger.warn({ shard: workgroupId }, 'shard.reopened');
    return again;
  }

  return {
    connect,
    note(error) {
      if (isInvalidated(error)) {
        isLost = true;
        options.onLost();
      }
      return warehouseFailure(error, path);
    },
    async close() {
      const open = database;
      database = undefined;
      if (open === undefined) return;
      await open.idle(CLOSE_WAIT_MS_MAX);
      try {
        if (!isLost) await onConnection(open, (connection) => connection.run('CHECKPOINT'));
      } catch (error) {
        // Nothing is lost: what is in the write-ahead log is read from there at the next opening.
        logger.warn({ shard: workgroupId, reason: errorMessage(error) }, 'shard.checkpoint_failed');
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
