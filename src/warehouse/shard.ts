import { statSync } from 'node:fs';
import type { DuckDBConnection } from '@duckdb/node-api';
import type { NameTable } from '../contract/columns.ts';
import { createNameTable } from '../contract/names.ts';
import { errorMessage, TransientError } from '../errors.ts';
import type { Log } from '../log.ts';
import type { Clock } from '../time.ts';
import { type Checkpoint, readCheckpoints } from './checkpoint.ts';
import { createCommitter } from './commit.ts';
import { type Database, openDatabase } from './database.ts';
import { isInvalidated, knownFailure, warehouseFailure } from './failures.ts';
import { createLanding } from './land.ts';
import { migrate } from './migrate.ts';
import { checkOwner, takeOwnership } from './owner.ts';
import type { GapInput, GapResult, LandInput, LandResult } from './plan.ts';
import { query } from './query.ts';
import type { Migration } from './sql.ts';

export interface ShardOptions {
  /** The DuckDB file; made, with its folder, where there is none. */
  path: string;
  workgroupId: string;
  memoryMegabytes: number;
  threads: number;
  /** Folders that statements may read and write files in, such as the lake. Nothing else of the disk is open to them. */
  folders?: readonly string[];
  /** The fencing epoch of the lease that was taken; without one the file's own epoch is raised by one. */
  epoch?: bigint;
  /** The schema; default: that of this program. */
  migrations?: Migration[];
  clock: Clock;
  log: Log;
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
  /**
   * Runs `work` in a transaction on a connection of its own: it commits when `work` returns and rolls back when it throws.
   * @throws StaleOwnerError when another worker has taken the shard; nothing was written then
   */
  transaction<Result>(work: (connection: DuckDBConnection) => Promise<Result>): Promise<Result>;
  /** Where an origin stands, as stored; undefined where nothing of it has landed. */
  checkpoint(origin: string): Promise<Checkpoint | undefined>;
  /** See `Landing.push`. */
  land(batch: LandInput | (() => LandInput)): Promise<LandResult>;
  /** See `Landing.recordGap`. */
  recordGap(origin: string, gap: GapInput, logEpoch?: string): Promise<GapResult>;
  status(): Promise<ShardStatus>;
  /** Finishes what is under way, empties the write-ahead log and lets the file go. Doing it again does nothing. */
  close(): Promise<void>;
}

export interface ShardStatus {
  workgroupId: string;
  path: string;
  epoch: bigint;
  schema: number;
  checkpoints: Checkpoint[];
  messages: number;
  batches: number;
  quarantined: number;
  openGaps: number;
  names: number;
  fileBytes: number;
  walBytes: number;
}

const CLOSE_WAIT_MS_MAX = 10_000;

/**
 * Opens a workgroup's DuckDB file, brings it to this program's schema and takes ownership of it: whoever owned it before
 * writes nothing from then on.
 * @throws TransientError WarehouseLocked where another process has it open, DiskFull
 * @throws TerminalError where it is damaged, of something else, of another workgroup or of a newer Wattline
 * @throws StaleOwnerError where `epoch` is not newer than the file's
 */
export async function openShard(options: ShardOptions): Promise<Shard> {
  const { path, workgroupId, clock, log } = options;
  const startMs = performance.now();
  let database: Database | undefined = await openDatabase(options);
  let isBroken = false;
  let reopening: Promise<Database> | undefined;
  let closing: Promise<void> | undefined;

  const opened = await onConnection(database, (connection) => prepareFile(connection, options)).catch(
    async (error: unknown) => {
      await database?.close();
      throw warehouseFailure(error, path);
    },
  );
  const { epoch, names } = opened;
  const owner = { workgroupId, epoch };

  const landing = createLanding({
    names,
    checkpoints: opened.checkpoints,
    lastBatchId: opened.lastBatchId,
    clock,
    log,
    failure: noteFailure,
    async openCommitter() {
      const connection = await connect();
      try {
        return await createCommitter(connection, owner);
      } catch (error) {
        connection.closeSync();
        throw error;
      }
    },
  });
  log.info(
    {
      shard: workgroupId,
      epoch: String(epoch),
      migrations: opened.migrations,
      durationMs: Math.round(performance.now() - startMs),
    },
    'shard.open',
  );

  /** One of our errors for what DuckDB throws; remembers when the database has to be opened again. */
  function noteFailure(error: unknown): Error {
    if (isInvalidated(error)) isBroken = true;
    return warehouseFailure(error, path);
  }

  async function connect(): Promise<DuckDBConnection> {
    if (database === undefined) throw closedFailure(workgroupId);
    if (isBroken) {
      reopening ??= reopen(database).finally(() => {
        reopening = undefined;
      });
      database = await reopening;
    }
    return database.connect();
  }

  /** After a failure that DuckDB does not recover from by itself, such as a checkpoint on a full disk. */
  async function reopen(broken: Database): Promise<Database> {
    landing.retire();
    await broken.idle(CLOSE_WAIT_MS_MAX);
    await broken.close();
    const again = await openDatabase(options);
    try {
      await onConnection(again, (connection) => checkOwner(connection, owner));
    } catch (error) {
      await again.close();
      throw warehouseFailure(error, path);
    }
    isBroken = false;
    log.warn({ shard: workgroupId }, 'shard.reopened');
    return again;
  }

  async function transaction<Result>(
    work: (connection: DuckDBConnection) => Promise<Result>,
  ): Promise<Result> {
    checkOpen();
    const connection = await connect();
    try {
      return await runTransaction(connection, () => checkOwner(connection, owner), work);
    } catch (error) {
      if (isInvalidated(error)) isBroken = true;
      throw knownFailure(error, path) ?? error;
    } finally {
      connection.closeSync();
    }
  }

  function checkOpen(): void {
    if (closing !== undefined) throw closedFailure(workgroupId);
  }

  async function read<Result>(work: (connection: DuckDBConnection) => Promise<Result>): Promise<Result> {
    checkOpen();
    const connection = await connect();
    try {
      return await work(connection);
    } catch (error) {
      throw noteFailure(error);
    } finally {
      connection.closeSync();
    }
  }

  async function closeAll(): Promise<void> {
    await landing.drain();
    const open = database;
    database = undefined;
    if (open === undefined) return;
    await open.idle(CLOSE_WAIT_MS_MAX);
    try {
      if (!isBroken) await onConnection(open, (connection) => connection.run('CHECKPOINT'));
    } catch (error) {
      // Nothing is lost: what is in the write-ahead log is read from there at the next opening.
      log.warn({ shard: workgroupId, reason: errorMessage(error) }, 'shard.checkpoint_failed');
    }
    await open.close();
    log.info({ shard: workgroupId }, 'shard.close');
  }

  return {
    workgroupId,
    path,
    epoch,
    names,
    async connect() {
      checkOpen();
      return connect();
    },
    transaction,
    checkpoint: (origin) => read(async (connection) => (await readCheckpoints(connection)).get(origin)),
    async land(batch) {
      checkOpen();
      return landing.push(batch);
    },
    async recordGap(origin, gap, logEpoch) {
      checkOpen();
      return landing.recordGap(origin, gap, logEpoch);
    },
    status: () => read((connection) => readStatus(connection, { workgroupId, path, epoch })),
    close() {
      closing ??= closeAll();
      return closing;
    },
  };
}

function closedFailure(workgroupId: string): TransientError {
  return new TransientError('WarehouseClosed', `the warehouse of ${workgroupId} is closed; open it again`);
}

/** Brings the file up to date, takes it over, and reads what landing starts from. */
async function prepareFile(connection: DuckDBConnection, options: ShardOptions) {
  const migrations = await migrate(connection, options);
  const epoch = await takeOwnership(connection, options);
  const names = await query<{ name_id: number; name: string }>(connection, 'land/names');
  const [last] = await query<{ batch_id: bigint }>(connection, 'land/last-batch');
  return {
    epoch,
    migrations,
    names: createNameTable(names.map((row) => ({ id: row.name_id, name: row.name }))),
    lastBatchId: Number(last?.batch_id ?? 0),
    checkpoints: await readCheckpoints(connection),
  };
}

async function onConnection<Result>(
  database: Database,
  work: (connection: DuckDBConnection) => Promise<Result>,
): Promise<Result> {
  const connection = await database.connect();
  try {
    return await work(connection);
  } finally {
    connection.closeSync();
  }
}

async function runTransaction<Result>(
  connection: DuckDBConnection,
  check: () => Promise<void>,
  work: (connection: DuckDBConnection) => Promise<Result>,
): Promise<Result> {
  await connection.run('BEGIN');
  try {
    await check();
    const result = await work(connection);
    await connection.run('COMMIT');
    return result;
  } catch (error) {
    // Nothing to roll back where COMMIT was what failed.
    await connection.run('ROLLBACK').catch(() => {});
    throw error;
  }
}

async function readStatus(
  connection: DuckDBConnection,
  shard: { workgroupId: string; path: string; epoch: bigint },
): Promise<ShardStatus> {
  const [counts] = await query<Record<string, bigint | number>>(connection, 'land/status');
  const checkpoints = await readCheckpoints(connection);
  const count = (column: string) => Number(counts?.[column] ?? 0);
  const bytes = (file: string) => statSync(file, { throwIfNoEntry: false })?.size ?? 0;
  return {
    ...shard,
    schema: count('schema_number'),
    checkpoints: [...checkpoints.values()],
    messages: count('message_count'),
    batches: count('batch_count'),
    quarantined: count('quarantined_count'),
    openGaps: count('open_gap_count'),
    names: count('name_count'),
    fileBytes: bytes(shard.path),
    walBytes: bytes(`${shard.path}.wal`),
  };
}
