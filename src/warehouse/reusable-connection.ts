import type { DuckDBConnection } from '@duckdb/node-api';

/** A connection that is kept for the next use, with its temporary tables and macros. */
interface ReusableConnection {
  /** Returns the kept connection, or a new one if it is in use or does not exist. */
  take(): Promise<DuckDBConnection>;
  /** Keeps the connection for the next use. It is closed without `isSound`, or after many uses. */
  giveBack(connection: DuckDBConnection, isSound: boolean): void;
  /** Closes the kept connection. If it is in use, it is closed when it is released. */
  retire(): void;
}

/** A temporary table that is created again leaks about 8 kB, until the connection is closed. */
const USES_MAX = 200;

export function createReusableConnection(open: () => Promise<DuckDBConnection>): ReusableConnection {
  let idle: DuckDBConnection | undefined;
  let uses = 0;
  let used: DuckDBConnection | undefined;
  return {
    async take() {
      const connection = idle ?? (await open());
      if (idle === undefined) uses = 0;
      idle = undefined;
      used = connection;
      return connection;
    },
    giveBack(connection, isSound) {
      const isLast = connection !== used || ++uses >= USES_MAX;
      if (connection === used) used = undefined;
      if (isSound && !isLast && idle === undefined) idle = connection;
      else connection.closeSync();
    },
    retire() {
      idle?.closeSync();
      idle = undefined;
      // The connection is forgotten here, so it is closed when it is released.
      used = undefined;
    },
  };
}
