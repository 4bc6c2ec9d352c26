import type { DuckDBConnection } from '@duckdb/node-api';
import { onTestFinished } from 'vitest';
import { openQueryPool } from '../../src/report/lake/query-pool.ts';

/** A database in memory, as the report has one. */
export async function openConnection(): Promise<DuckDBConnection> {
  const pool = await openQueryPool({
    folders: [],
    threads: 1,
    memoryMegabytes: 1_024,
    queriesMax: 1,
    waitingMax: 1,
    queryMsMax: 90_000,
  });
  const asked = Promise.withResolvers<DuckDBConnection>();
  const done = Promise.withResolvers<void>();
  const held = pool.run(async (connection) => {
    asked.resolve(connection);
    await done.promise;
  });
  onTestFinished(async () => {
    done.resolve();
    await held;
    await pool.close();
  });
  return asked.promise;
}
