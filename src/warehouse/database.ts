import { closeSync, mkdirSync, openSync, readSync, realpathSync, rmSync, statSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { locks } from 'node:worker_threads';
import type { DuckDBConnection, DuckDBInstance } from '@duckdb/node-api';
import { errorCode, TransientError } from '../lib/errors.ts';
import { sqlString } from '../lib/sql-text.ts';
import { type Clock, SECOND_MS } from '../lib/time.ts';
import { withTimeout } from '../lib/with-timeout.ts';
import { warehouseFailure } from './warehouse-failures.ts';

export interface DatabaseOptions {
  path: string;
  memoryMegabytes: number;
  threads: number;
  /**
   * Folders in which statements can read and write files, such as the lake. Statements have no access to
   * other folders.
   */
  folders?: readonly string[];
  /** Opens an existing file for reading, without changing it. Other processes can do the same. */
  readOnly?: boolean;
  /**
   * Waits this long if another process has the file open. A reader, such as `wattline status`, has it open
   * for a moment only. Default: 0.
   */
  lockWaitMs?: number;
  clock: Clock;
}

/** An open DuckDB file. A process has at most one for a file, in any thread. */
export interface Database {
  /** Opens a connection. Use one for each concurrent operation. Closing the database closes it. */
  connect(): Promise<DuckDBConnection>;
  /**
   * For reading the file itself; undefined with `readOnly`. It is opened and closed with the database. No
   * other descriptor of the file may be used, because closing one would release DuckDB's lock.
   */
  readonly file: FileHandle | undefined;
  /** True while a connection is open, or is being opened. */
  isInUse(): boolean;
  /** Waits until all connections are closed, and interrupts statements that still run after this time. */
  waitUntilIdle(waitMsMax: number): Promise<void>;
  /**
   * Closes every connection and the file. No call can be pending on any of them. A second call does nothing.
   */
  close(): Promise<void>;
}

/**
 * The block size of a new file. An existing file keeps the size with which it was created. If a table has new
 * rows since the last checkpoint, each of its columns takes a block of memory. For an open warehouse with a
 * few new readings this is 12 MB with this size, and 37 MB with DuckDB's default of 256 KiB. Most scans take
 * the same time. Scans of wide tables can take up to twice the time: a scan of `series_quarter` took 81 ms
 * instead of 43 ms. A large file is 20 % larger.
 */
const BLOCK_BYTES = '65536';
/**
 * DuckDB makes a checkpoint when its write-ahead log has this size. A checkpoint delays commits by about
 * 400 ms, so it is better to have few.
 */
const WAL_MEGABYTES_MAX = 256;
/** Three header blocks. The creation of a shorter file was interrupted. */
const HEADER_BYTES = 12_288;
const CREATION_MS_MAX = 10 * SECOND_MS;
const INTERRUPT_MS_MAX = SECOND_MS;
const LOCK_LOOK_EVERY_MS = 50;
/**
 * The `lockWaitMs` of an owner. An owner that cannot open its file tries again after 10 s or more, and
 * refuses requests until then.
 */
export const OWNER_LOCK_WAIT_MS = 3 * SECOND_MS;

/**
 * Opens or creates a DuckDB file for writing, or opens one for reading.
 * @throws TransientError if another process has it open or the disk is full, TerminalError if it is damaged
 *   or of another program
 */
export async function openDatabase(options: DatabaseOptions): Promise<Database> {
  const giveUpAtMs = performance.now() + (options.lockWaitMs ?? 0);
  for (;;) {
    try {
      return await openNow(options);
    } catch (error) {
      if (errorCode(error) !== 'WarehouseLocked' || performance.now() >= giveUpAtMs) throw error;
    }
    await sleep(LOCK_LOOK_EVERY_MS);
  }
}

async function openNow(options: DatabaseOptions): Promise<Database> {
  // Loaded at first use. So commands that open no database start in half the time.
  const duckdb = await import('@duckdb/node-api');
  const { readOnly = false } = options;
  if (!readOnly) mkdirSync(dirname(resolve(options.path)), { recursive: true });
  const path = join(realpathSync(dirname(resolve(options.path))), basename(options.path));
  const release = await claimFile(path);
  let instance: DuckDBInstance | undefined;
  let file: FileHandle | undefined;
  const connections = new Set<DuckDBConnection>();
  let connecting = 0;
  /** For all who wait until no connection is open. */
  let idle: PromiseWithResolvers<void> | undefined;

  async function connect(): Promise<DuckDBConnection> {
    if (instance === undefined) throw new TransientError('WarehouseClosed', `${path} is closed`);
    // The connection is counted before it is open. If the file were closed meanwhile, its first query would
    // get no answer.
    connecting++;
    const connection = await instance.connect().finally(() => connecting--);
    connections.add(connection);
    const disconnect = connection.disconnectSync.bind(connection);
    connection.disconnectSync = () => {
      if (!connections.delete(connection)) return;
      disconnect();
      if (!isIdle()) return;
      idle?.resolve();
      idle = undefined;
    };
    return connection;
  }

  function isIdle(): boolean {
    return connecting === 0 && connections.size === 0;
  }

  async function waitUntilIdle(waitMsMax: number): Promise<void> {
    if (await isIdleWithin(waitMsMax)) return;
    for (const connection of connections) connection.interrupt();
    await isIdleWithin(INTERRUPT_MS_MAX);
  }

  async function isIdleWithin(waitMs: number): Promise<boolean> {
    if (isIdle()) return true;
    idle ??= Promise.withResolvers<void>();
    await withTimeout(idle.promise, waitMs);
    return isIdle();
  }

  async function close(): Promise<void> {
    for (const connection of connections) connection.disconnectSync();
    instance?.closeSync();
    instance = undefined;
    await file?.close();
    file = undefined;
    await release();
  }

  try {
    if (!readOnly) removeUnfinished(path, options.clock);
    instance = await duckdb.DuckDBInstance.create(path, settings(path, options));
    // This process owns the file now, so spilled files next to it are of a process that was killed.
    if (!readOnly) rmSync(spillFolder(path), { recursive: true, force: true });
    if (!readOnly) file = await open(path, 'r');
    const connection = await connect();
    await restrict(connection, options.folders ?? []);
    connection.closeSync();
    return { connect, file, isInUse: () => !isIdle(), waitUntilIdle, close };
  } catch (error) {
    await close();
    throw warehouseFailure(error, path);
  }
}

function settings(
  path: string,
  { memoryMegabytes, threads, readOnly }: DatabaseOptions,
): Record<string, string> {
  return {
    access_mode: readOnly ? 'READ_ONLY' : 'READ_WRITE',
    memory_limit: `${memoryMegabytes}MiB`,
    threads: String(threads),
    temp_directory: readOnly ? '' : spillFolder(path),
    wal_autocheckpoint: walLimit(memoryMegabytes),
    default_block_size: BLOCK_BYTES,
    autoinstall_known_extensions: 'false',
    autoload_known_extensions: 'false',
    allow_community_extensions: 'false',
    allow_persistent_secrets: 'false',
    // A thread of the allocator gives freed memory back after a second. Without it this happens only while
    // statements run.
    allocator_background_threads: 'true',
    // A file of the lake is read once, when it is merged. The cache would keep all of them, up to the limit
    // of memory.
    enable_external_file_cache: 'false',
  };
}

/** The size of the write-ahead log at which DuckDB makes a checkpoint. */
export function walLimit(memoryMegabytes: number): string {
  return `${Math.min(WAL_MEGABYTES_MAX, Math.ceil(memoryMegabytes / 4))}MiB`;
}

function spillFolder(path: string): string {
  return `${path}.tmp`;
}

/**
 * Sets the time zone, and blocks file system and network for all later statements, except for the given
 * folders.
 */
async function restrict(connection: DuckDBConnection, folders: readonly string[]): Promise<void> {
  await connection.run("SET GLOBAL TimeZone = 'UTC'");
  const list = folders.map((folder) => sqlString(`${resolve(folder)}/`));
  await connection.run(`SET GLOBAL allowed_directories = [${list.join(', ')}]`);
  await connection.run('SET GLOBAL enable_external_access = false');
}

/**
 * Claims a file for this process. DuckDB's lock excludes other processes, but this process could open the
 * file a second time. When it then closes one of the two, the lock is released for both, because POSIX locks
 * belong to the process. So no other code of this process can open the file while it is a warehouse, not even
 * to read or copy it. `Database.file` is there for that.
 */
async function claimFile(path: string): Promise<() => Promise<unknown>> {
  const { promise: held, resolve: release } = Promise.withResolvers<void>();
  const { promise: granted, resolve: grant } = Promise.withResolvers<boolean>();
  const released = locks.request(`wattline:${path}`, { ifAvailable: true }, (lock) => {
    grant(lock !== null);
    return lock === null ? undefined : held;
  });
  if (!(await granted)) {
    throw new TransientError(
      'WarehouseLocked',
      `${path} is already open in this process (${process.pid}); close it there first`,
      { details: { path, holderPid: process.pid } },
    );
  }
  return () => {
    release();
    return released;
  };
}

/**
 * Deletes a file whose creation was interrupted (a crash, a full disk). It is empty and can never be opened.
 */
function removeUnfinished(path: string, clock: Clock): void {
  const file = statSync(path, { throwIfNoEntry: false });
  if (!file?.isFile() || file.size >= HEADER_BYTES) return;
  // Another process can be creating a new file just now.
  if (clock.now() - file.mtimeMs < CREATION_MS_MAX || statSync(`${path}.wal`, { throwIfNoEntry: false }))
    return;
  if (file.size === 0 || startsLikeDuckDb(path)) rmSync(path);
}

function startsLikeDuckDb(path: string): boolean {
  const bytes = Buffer.alloc(12);
  const file = openSync(path, 'r');
  try {
    readSync(file, bytes, 0, bytes.length, 0);
  } finally {
    closeSync(file);
  }
  return bytes.toString('latin1', 8, 12) === 'DUCK';
}
