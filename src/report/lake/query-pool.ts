import type { DuckDBConnection } from '@duckdb/node-api';
import { unavailable } from '../../contract/stream-errors.ts';
import { createFairSlots } from '../../lib/fair-slots.ts';
import { sqlString } from '../../lib/sql-text.ts';
import { SECOND_MS } from '../../lib/time.ts';
import { loadSql } from '../../warehouse/load-sql.ts';

interface QueryPoolOptions {
  /** Folders in which queries can read files. They have no access to the rest of the disk. */
  folders: readonly string[];
  threads: number;
  memoryMegabytes: number;
  /**
   * The maximum number of concurrent queries of an owner. One more can run for another owner. With more
   * queries each would be slower, and file reads of the process would be delayed.
   */
  queriesMax: number;
  /** The maximum number of waiting queries. An owner has at most as many as there are places left. */
  waitingMax: number;
  queryMsMax: number;
}

/**
 * An in-memory DuckDB that reads files, with a bounded number of concurrent queries. It has the macros of
 * `sql/report`.
 */
export interface QueryPool {
  /**
   * Runs `work` with a separate connection, when one is free. Owners take turns.
   * @throws StreamError StorageUnavailable if too many queries wait, or if it takes too long; then the query
   *   is stopped
   */
  run<Result>(
    work: (connection: DuckDBConnection) => Promise<Result>,
    signal?: AbortSignal,
    owner?: string,
  ): Promise<Result>;
  /** Waits for running queries, then closes. */
  close(): Promise<void>;
}

const RETRY_AFTER_SECONDS = 2;

export async function openQueryPool(options: QueryPoolOptions): Promise<QueryPool> {
  const { DuckDBInstance } = await import('@duckdb/node-api');
  const instance = await DuckDBInstance.create(':memory:', {
    threads: String(options.threads),
    memory_limit: `${options.memoryMegabytes}MiB`,
    autoinstall_known_extensions: 'false',
    autoload_known_extensions: 'false',
    // See `settings` of database.ts. A process that only reports opens no warehouse.
    allocator_background_threads: 'true',
  });
  const free: DuckDBConnection[] = [];
  for (let index = 0; index <= options.queriesMax; index++) free.push(await instance.connect());
  await restrict(free[0]!, options.folders);
  await free[0]!.run(loadSql('report/create_report_macros'));
  const slots = createFairSlots({
    ownMax: options.queriesMax,
    waitingMax: options.waitingMax,
    refusedError: () =>
      unavailable('too many reports are being computed; ask again in a moment', RETRY_AFTER_SECONDS),
  });
  const running = new Set<Promise<unknown>>();

  async function runOn<Result>(
    work: (connection: DuckDBConnection) => Promise<Result>,
    signal: AbortSignal | undefined,
    owner: string,
  ): Promise<Result> {
    const giveBack = await slots.take(owner);
    const connection = free.pop()!;
    const limit = AbortSignal.timeout(options.queryMsMax);
    const stop = signal ? AbortSignal.any([limit, signal]) : limit;
    const interrupt = () => connection.interrupt();
    stop.addEventListener('abort', interrupt);
    try {
      stop.throwIfAborted();
      return await work(connection);
    } catch (error) {
      if (!limit.aborted) throw error;
      throw unavailable(
        `the report takes longer than ${options.queryMsMax / SECOND_MS} s; ask for fewer days or devices`,
        RETRY_AFTER_SECONDS,
      );
    } finally {
      stop.removeEventListener('abort', interrupt);
      free.push(connection);
      giveBack();
    }
  }

  return {
    run(work, signal, owner = '') {
      const query = runOn(work, signal, owner);
      running.add(query);
      const forget = () => running.delete(query);
      query.then(forget, forget);
      return query;
    },
    async close() {
      await Promise.allSettled(running);
      for (const connection of free.splice(0)) connection.closeSync();
      instance.closeSync();
    },
  };
}

async function restrict(connection: DuckDBConnection, folders: readonly string[]): Promise<void> {
  await connection.run("SET GLOBAL TimeZone = 'UTC'");
  // Cached footers stay valid, because a file name is never used twice.
  await connection.run('SET GLOBAL parquet_metadata_cache = true');
  const list = folders.map((folder) => sqlString(`${folder}/`));
  await connection.run(`SET GLOBAL allowed_directories = [${list.join(', ')}]`);
  await connection.run('SET GLOBAL enable_external_access = false');
  await connection.run('SET GLOBAL lock_configuration = true');
}
