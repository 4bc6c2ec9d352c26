import type { DuckDBConnection } from '@duckdb/node-api';

/** A connection that is kept from one use to the next, with its temporary tables and macros. */
export interface KeptConnection {
  /** The kept connection; another one where that is in use, or where there is none. */
  take(): Promise<DuckDBConnection>;
  /** Keeps it for the next use. Without `isSound`, or after many uses, it is closed. */
  giveBack(connection: DuckDBConnection, isSound: boolean): void;
  /** Closes the kept connection; one that is in use is closed when it is given back. */
  retire(): void;
}

/** Temporary tables that are made again and again take about 8 kB more each time, until their connection is closed. */
const USES_MAX = 200;

export function keepConnection(open: () => Promise<DuckDBConnection>): KeptConnection {
  let kept: DuckDBConnection | undefined;
  let uses = 0;
  let used: DuckDBConnection | undefined;
  return {
    async take() {
      const connection = kept ?? (await open());
      if (kept === undefined) uses = 0;
      kept = undefined;
      used = connection;
      return connection;
    },
    giveBack(connection, isSound) {
      const isLast = connection !== used || ++uses >= USES_MAX;
      if (connection === used) used = undefined;
      if (isSound && !isLast && kept === undefined) kept = connection;
      else connection.closeSync();
    },
    retire() {
      kept?.closeSync();
      kept = undefined;
      // It is not known any more, so it is closed when it comes back.
      used = undefined;
    },
  };
}
