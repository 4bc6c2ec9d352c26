import { statSync } from 'node:fs';
import type { DuckDBConnection } from '@duckdb/node-api';
import type { NameTable } from '../decode/message-columns.ts';
import { MEBIBYTE } from '../lib/units.ts';
import { type Checkpoint, readCheckpoints } from './checkpoint.ts';
import { createCommitter } from './committer.ts';
import { walLimit } from './database.ts';
import { beginInserts, endInserts } from './empty-inserts.ts';
import { createEngineUse, type EngineUse } from './engine-use.ts';
import { createFrozenReads, type FrozenReads } from './frozen-file.ts';
import { createLanding, type Landing } from './landing.ts';
import { type FileOptions, openFile, openPrepared } from './open-prepared.ts';
import { checkOwner } from './ownership.ts';
import { closedFailure, createRecoveringDatabase, onConnection } from './recovering-database.ts';
import { createReusableConnection } from './reusable-connection.ts';
import { readShardStatus, type ShardStatus } from './shard-status.ts';
import { knownFailure } from './warehouse-failures.ts';
import { createWriteGate } from './write-gate.ts';

export interface ShardOptions extends FileOptions {
  /** `renewIfDue` opens the file again after this many transactions. Default: 200. */
  renewAfterTransactions?: number;
}

interface TransactionOptions {
  /** The transaction writes nothing that a roll-up reads, so `changes` stays the same. */
  isQuiet?: boolean;
  /**
   * If this returns true after the commit, the connection is kept for the next transaction of this kind, with
   * its temporary tables and macros. They use memory until then. After a failure the connection is closed.
   */
  keep?: (connection: DuckDBConnection) => boolean;
}

/**
 * `checkpointIfDue` empties a write-ahead log of this size or more, because the changes in it take several
 * times their size in memory.
 */
const CHECKPOINT_BYTES_MIN = 4 * MEBIBYTE;
/**
 * The same for a warehouse in which nothing was stored since the last call. Its log still grows a little,
 * because stages note their progress.
 */
const CHECKPOINT_RESTING_BYTES_MIN = 64 * 1024;

/**
 * DuckDB keeps some bytes for each block of memory that a statement has used, and frees them when the file is
 * closed. Its memory limit does not count them. This many transactions leave about 4 MB. Opening a file again
 * takes 20 to 40 ms of CPU time, even if it is large.
 */
const RENEW_AFTER_TRANSACTIONS = 200;

/** One workgroup's open warehouse, owned by this process. */
export interface Shard extends EngineUse {
  readonly workgroupId: string;
  readonly path: string;
  /** The epoch in which this process owns the file. */
  readonly epoch: bigint;
  /** Names by id, for the decoder. New names are stored with their batch. */
  readonly names: NameTable;
  /** Opens a connection for reading. Use one for each concurrent operation, and close it before the shard. */
  connect(): Promise<DuckDBConnection>;
  /** Runs `work` on a separate connection, for reading. */
  read<Result>(work: (connection: DuckDBConnection) => Promise<Result>): Promise<Result>;
  /**
   * Runs `work` in a transaction on a separate connection. It commits if `work` returns, and rolls back if it
   * throws.
   * @throws StaleOwnerError if another worker has taken the shard; then nothing was written
   */
  transaction<Result>(
    work: (connection: DuckDBConnection) => Promise<Result>,
    options?: TransactionOptions,
  ): Promise<Result>;
  /**
   * A number that grows with everything that a roll-up may have to read: batches, transactions that are not
   * quiet, and each call of `connect`. While it stays the same, there is nothing new.
   */
  changes(): number;
  /** The stored checkpoint of an origin; undefined if nothing of it has landed. */
  checkpoint(origin: string): Promise<Checkpoint | undefined>;
  /** See `Landing.push`. */
  land: Landing['push'];
  /**
   * Like `transaction`, to add unlisted batches to the ledger. No batch lands meanwhile, and later batches
   * have higher ids.
   * @param work returns the last batch that it has added
   */
  listBatches(work: (connection: DuckDBConnection) => Promise<number>): Promise<void>;
  /**
   * Makes a checkpoint in a moment without write transactions, and lets `work` read the file as it is then.
   * Landing and transactions continue while `work` reads. They wait only during the checkpoint. One call runs
   * at a time.
   * @throws TransientError if a write transaction takes too long, or the warehouse is closed or opened again
   *   while it is read
   */
  readFrozen: FrozenReads['read'];
  status(): Promise<ShardStatus>;
  /**
   * Empties the write-ahead log if it is large. If nothing was stored since the last call, a much smaller one
   * is emptied too. Rows that are only in the log take about 30 MB of memory in all, even if they are few.
   */
  checkpointIfDue(): Promise<void>;
  /**
   * Closes the file and opens it again, which frees memory. It does so if there were many transactions since
   * the file was opened, and nobody uses it. Later calls wait meanwhile. If the file cannot be opened, each
   * later call tries it again. It fails with the same error as after any other loss of the file.
   */
  renewIfDue(): Promise<void>;
  /** Finishes running work, empties the write-ahead log and closes the file. A second call does nothing. */
  close(): Promise<void>;
}

/**
 * Opens a workgroup's DuckDB file, migrates it to this program's schema and takes ownership of it. The owner
 * before cannot write any more.
 * @throws TransientError WarehouseLocked if another process has it open, DiskFull if the disk is full
 * @throws TerminalError if it is damaged, or of another program, another workgroup or a newer Wattline
 * @throws StaleOwnerError if `epoch` is not newer than the file's
 */
export async function openShard(options: ShardOptions): Promise<Shard> {
  const { path, workgroupId, clock, logger } = options;
  const startMs = performance.now();
  const { file, prepared } = await openPrepared(options);
  const { epoch, names, migrations } = prepared;
  const owner = { workgroupId, epoch };
  let closing: Promise<void> | undefined;

  const database = createRecoveringDatabase(file, {
    path,
    workgroupId,
    logger,
    open: () => openFile(options),
    onLost: () => reusableConnection.retire(),
    onReopen: () => {
      landing.retire();
      reusableConnection.retire();
    },
    check: (connection) => checkOwner(connection, owner),
  });
  const landing = createLanding({
    names,
    checkpoints: prepared.checkpoints,
    lastBatchId: prepared.lastBatchId,
    clock,
    logger,
    failure: (error) => database.note(error),
    async openCommitter() {
      const connection = await database.connect();
      try {
        return await createCommitter(connection, owner);
      } catch (error) {
        connection.closeSync();
        throw error;
      }
    },
  });

  const reusableConnection = createReusableConnection(() => database.connect());
  const gate = createWriteGate();
  const frozen = createFrozenReads({
    connect: () => database.connect(),
    file: () => database.file(),
    walLimit: walLimit(options.memoryMegabytes),
    alone: (work) => gate.alone(() => landing.pause(work)),
  });
  let changes = 0;
  /** The value of `changes` at the last call of `checkpointIfDue`. */
  let changesSeen = -1;
  /** Transactions since the file was opened. */
  let transactions = 0;
  const engine = createEngineUse(options, (sql) => read((connection) => connection.run(sql)));

  async function transaction<Result>(
    work: (connection: DuckDBConnection) => Promise<Result>,
    options: TransactionOptions = {},
  ): Promise<Result> {
    checkOpen();
    transactions++;
    await gate.enter();
    try {
      return await transactionInGate(work, options);
    } finally {
      gate.leave();
    }
  }

  async function transactionInGate<Result>(
    work: (connection: DuckDBConnection) => Promise<Result>,
    { isQuiet = false, keep }: TransactionOptions,
  ): Promise<Result> {
    const connection = await (keep ? reusableConnection.take() : database.connect());
    let isSound = false;
    try {
      const result = await runTransaction(connection, () => checkOwner(connection, owner), work);
      isSound = closing === undefined && keep?.(connection) === true;
      return result;
    } catch (error) {
      database.note(error);
      // Errors that DuckDB did not throw are errors of the caller, and stay as they are.
      throw knownFailure(error, path) ?? error;
    } finally {
      if (!isQuiet) changes++;
      reusableConnection.giveBack(connection, isSound);
    }
  }

  async function read<Result>(work: (connection: DuckDBConnection) => Promise<Result>): Promise<Result> {
    checkOpen();
    try {
      return await onConnection(database, work);
    } catch (error) {
      throw database.note(error);
    }
  }

  function checkOpen(): void {
    if (closing !== undefined) throw closedFailure(workgroupId);
  }

  async function closeAll(): Promise<void> {
    await frozen.stop(closedFailure(workgroupId));
    reusableConnection.retire();
    await landing.drain();
    await database.close();
    logger.info({ workgroup: workgroupId }, 'shard.close');
  }

  const durationMs = Math.round(performance.now() - startMs);
  logger.info({ workgroup: workgroupId, epoch: String(epoch), migrations, durationMs }, 'shard.open');
  return {
    workgroupId,
    path,
    epoch,
    names,
    async connect() {
      checkOpen();
      changes++;
      return database.connect();
    },
    read,
    transaction,
    changes: () => changes,
    checkpoint: (origin) => read(async (connection) => (await readCheckpoints(connection)).get(origin)),
    async land(batch) {
      checkOpen();
      transactions++;
      try {
        return await landing.push(batch);
      } finally {
        changes++;
      }
    },
    async listBatches(work) {
      checkOpen();
      return landing.listBatches(() => transaction(work));
    },
    async readFrozen(work) {
      checkOpen();
      try {
        return await frozen.read(work);
      } catch (error) {
        database.note(error);
        throw knownFailure(error, path) ?? error;
      }
    },
    ...engine,
    async checkpointIfDue() {
      const isResting = changes === changesSeen;
      changesSeen = changes;
      const walBytes = statSync(`${path}.wal`, { throwIfNoEntry: false })?.size ?? 0;
      if (walBytes < (isResting ? CHECKPOINT_RESTING_BYTES_MIN : CHECKPOINT_BYTES_MIN)) return;
      // A checkpoint would change the file under a reader of the frozen file, so this waits until no such
      // reader is left. After a failure the next call tries again.
      await frozen.read(async () => undefined).catch((error: unknown) => database.note(error));
    },
    async renewIfDue() {
      const isDue = transactions >= (options.renewAfterTransactions ?? RENEW_AFTER_TRANSACTIONS);
      if (closing !== undefined || !isDue) return;
      try {
        if (!(await frozen.between(() => database.renew()))) return;
        transactions = 0;
        await engine.releaseMemory();
      } catch (error) {
        // The next call tries again, or the next use reports that the file is lost.
        logger.warn({ workgroup: workgroupId, error: database.note(error).message }, 'shard.renew-failed');
      }
    },
    status: () => read((connection) => readShardStatus(connection, { ...owner, path, nowMs: clock.now() })),
    close() {
      closing ??= closeAll();
      return closing;
    },
  };
}

async function runTransaction<Result>(
  connection: DuckDBConnection,
  check: () => Promise<void>,
  work: (connection: DuckDBConnection) => Promise<Result>,
): Promise<Result> {
  beginInserts(connection);
  await connection.run('BEGIN');
  try {
    await check();
    const result = await work(connection);
    await endInserts(connection);
    await connection.run('COMMIT');
    return result;
  } catch (error) {
    // If COMMIT failed, there is nothing to roll back.
    await connection.run('ROLLBACK').catch(() => {});
    throw error;
  }
}
