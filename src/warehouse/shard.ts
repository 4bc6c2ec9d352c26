import type { DuckDBConnection } from '@duckdb/node-api';
import type { NameTable } from '../decode/message-columns.ts';
import { createNameTable } from '../decode/name-table.ts';
import type { Logger } from '../lib/logger.ts';
import type { Clock } from '../lib/time.ts';
import { type Checkpoint, readCheckpoints } from './checkpoint.ts';
import { createCommitter } from './committer.ts';
import { openDatabase } from './database.ts';
import { beginInserts, endInserts } from './empty-inserts.ts';
import { createLanding, type Landing } from './landing.ts';
import type { Migration } from './load-sql.ts';
import { migrate } from './migrate.ts';
import { checkOwner, takeOwnership } from './ownership.ts';
import type { GapInput, GapResult } from './plan-landing.ts';
import { query } from './query.ts';
import { closedFailure, onConnection, recovering } from './recovering-database.ts';
import { keepConnection } from './reusable-connection.ts';
import { readStatus, type ShardStatus } from './shard-status.ts';
import { knownFailure, warehouseFailure } from './warehouse-failures.ts';

export interface ShardOptions {
  /** The DuckDB file; made, with its folder, where there is none. */
  path: string;
  workgroupId: string;
  memoryMegabytes: number;
  threads: number;
  /** Names of tables, sources and fields. Default: 100,000. */
  namesMax?: number;
  /** Folders that statements may read and write files in, such as the lake. Nothing else of the disk is open to them. */
  folders?: readonly string[];
  /** The fencing epoch of the lease that was taken; without one the file's own epoch is raised by one. */
  epoch?: bigint;
  /** The schema; default: that of this program. */
  migrations?: Migration[];
  clock: Clock;
  logger: Logger;
}

export interface TransactionOptions {
  /** Nothing is written that a roll-up reads, so `changes` stays as it is. */
  isQuiet?: boolean;
  /**
   * Runs on a connection that is kept for the next such transaction, with the temporary tables and macros that are left on it, where this says so after
   * the commit. What is left takes memory until then. After a failure the connection is closed.
   */
  keep?: (connection: DuckDBConnection) => boolean;
}

/** One workgroup's open warehouse, owned by this process. */
export interface Shard {
  readonly workgroupId: string;
  readonly path: string;
  /** The fencing epoch in which this process owns the file. */
  readonly epoch: bigint;
  /** Names by id, for the decoder; new ones are stored with the batch that brings them. */
  readonly names: NameTable;
  /** A connection for reading. One for each operation that runs at a time; close it before the shard is closed. */
  connect(): Promise<DuckDBConnection>;
  /** Runs `work` on a connection of its own, for reading. */
  read<Result>(work: (connection: DuckDBConnection) => Promise<Result>): Promise<Result>;
  /**
   * Runs `work` in a transaction on a connection of its own: it commits when `work` returns and rolls back when it throws.
   * @throws StaleOwnerError when another worker has taken the shard; nothing was written then
   */
  transaction<Result>(
    work: (connection: DuckDBConnection) => Promise<Result>,
    options?: TransactionOptions,
  ): Promise<Result>;
  /**
   * A number that grows with everything that is written through this shard and that a roll-up may have to take in: batches, transactions that
   * are not quiet, and whatever is done on a connection of its own. While it stays the same there is nothing new.
   */
  changes(): number;
  /** Where an origin stands, as stored; undefined where nothing of it has landed. */
  checkpoint(origin: string): Promise<Checkpoint | undefined>;
  /** See `Landing.push`. */
  land: Landing['push'];
  /** See `Landing.recordGap`. */
  recordGap(origin: string, gap: GapInput, logEpoch?: string): Promise<GapResult>;
  /**
   * As `transaction`, for entering batches in the ledger that were landed as held ones: no batch lands meanwhile, and later ones
   * have higher ids.
   * @param work returns the last batch that it has entered
   */
  admit(work: (connection: DuckDBConnection) => Promise<number>): Promise<void>;
  status(): Promise<ShardStatus>;
  /** Finishes what is under way, empties the write-ahead log and lets the file go. Doing it again does nothing. */
  close(): Promise<void>;
}

/**
 * Opens a workgroup's DuckDB file, brings it to this program's schema and takes ownership of it: whoever owned it before
 * writes nothing from then on.
 * @throws TransientError WarehouseLocked where another process has it open, DiskFull
 * @throws TerminalError where it is damaged, of something else, of another workgroup or of a newer Wattline
 * @throws StaleOwnerError where `epoch` is not newer than the file's
 */
export async function openShard(options: ShardOptions): Promise<Shard> {
  const { path, workgroupId, clock, logger } = options;
  const startMs = performance.now();
  const file = await openDatabase(options);
  const prepared = await onConnection(file, (connection) => prepareFile(connection, options)).catch(
    async (error: unknown) => {
      await file.close();
      throw warehouseFailure(error, path);
    },
  );
  const { epoch, names, migrations } = prepared;
  const owner = { workgroupId, epoch };
  let closing: Promise<void> | undefined;

  const database = recovering(file, {
    path,
    workgroupId,
    logger,
    open: () => openDatabase(options),
    onLost: () => kept.retire(),
    onReopen: () => {
      landing.retire();
      kept.retire();
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

  const kept = keepConnection(() => database.connect());
  let changes = 0;

  async function transaction<Result>(
    work: (connection: DuckDBConnection) => Promise<Result>,
    { isQuiet = false, keep }: TransactionOptions = {},
  ): Promise<Result> {
    checkOpen();
    const connection = await (keep ? kept.take() : database.connect());
    let isSound = false;
    try {
      const result = await runTransaction(connection, () => checkOwner(connection, owner), work);
      isSound = closing === undefined && keep?.(connection) === true;
      return result;
    } catch (error) {
      database.note(error);
      // What is not DuckDB's is the caller's own.
      throw knownFailure(error, path) ?? error;
    } finally {
      if (!isQuiet) changes++;
      kept.giveBack(connection, isSound);
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
    kept.retire();
    await landing.drain();
    await database.close();
    logger.info({ shard: workgroupId }, 'shard.close');
  }

  const durationMs = Math.round(performance.now() - startMs);
  logger.info({ shard: workgroupId, epoch: String(epoch), migrations, durationMs }, 'shard.open');
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
      try {
        return await landing.push(batch);
      } finally {
        changes++;
      }
    },
    async recordGap(origin, gap, logEpoch) {
      checkOpen();
      return landing.recordGap(origin, gap, logEpoch);
    },
    async admit(work) {
      checkOpen();
      return landing.admit(() => transaction(work));
    },
    status: () => read((connection) => readStatus(connection, { ...owner, path })),
    close() {
      closing ??= closeAll();
      return closing;
    },
  };
}

/** Brings the file up to date, takes it over, and reads what landing starts from. */
async function prepareFile(connection: DuckDBConnection, options: ShardOptions) {
  const migrations = await migrate(connection, options);
  const epoch = await takeOwnership(connection, options);
  const names = await query<{ name_id: number; name: string }>(connection, 'land/find_names');
  const [last] = await query<{ batch_id: bigint }>(connection, 'land/find_last_batch');
  return {
    epoch,
    migrations,
    names: createNameTable(
      names.map((row) => ({ id: row.name_id, name: row.name })),
      options.namesMax,
    ),
    lastBatchId: Number(last?.batch_id ?? 0),
    checkpoints: await readCheckpoints(connection),
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
    // Nothing to roll back where COMMIT was what failed.
    await connection.run('ROLLBACK').catch(() => {});
    throw error;
  }
}
