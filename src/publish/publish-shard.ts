import type { DuckDBConnection } from '@duckdb/node-api';

/** What publishing needs of an open warehouse. */
export interface PublishShard {
  readonly workgroupId: string;
  /** The fencing epoch in which this process owns the warehouse. */
  readonly epoch: bigint;
  /** A connection of its own; the caller closes it. */
  connect(): Promise<DuckDBConnection>;
  /** Runs `work` between BEGIN and COMMIT; rolls back where it throws. `isQuiet`: it writes nothing that a roll-up reads. @throws StaleOwnerError */
  transaction<T>(
    work: (connection: DuckDBConnection) => Promise<T>,
    options?: { isQuiet?: boolean },
  ): Promise<T>;
}
