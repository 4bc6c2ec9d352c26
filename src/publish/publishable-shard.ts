import type { DuckDBConnection } from '@duckdb/node-api';

/** What publishing needs from an open warehouse. */
export interface PublishableShard {
  readonly workgroupId: string;
  /** The warehouse file. */
  readonly path: string;
  /** The fencing epoch in which this process owns the warehouse. */
  readonly epoch: bigint;
  /** A separate connection. The caller closes it. */
  connect(): Promise<DuckDBConnection>;
  /**
   * Runs `work` in a transaction, and rolls back if it throws. `isQuiet`: it writes nothing that a roll-up
   * reads.
   * @throws StaleOwnerError
   */
  transaction<Result>(
    work: (connection: DuckDBConnection) => Promise<Result>,
    options?: { isQuiet?: boolean },
  ): Promise<Result>;
  /** See `Shard.withAllThreads`. */
  withAllThreads<Result>(work: () => Promise<Result>): Promise<Result>;
}
