import { DuckDBConnection } from '@duckdb/node-api';
import { vi } from 'vitest';

/** How many statements DuckDB is given while something is done. */
export async function statementsOf(work: () => Promise<unknown>): Promise<number> {
  const spies = (['run', 'prepare', 'stream'] as const).map((name) =>
    vi.spyOn(DuckDBConnection.prototype, name),
  );
  await work();
  const count = spies.reduce((sum, spy) => sum + spy.mock.calls.length, 0);
  for (const spy of spies) spy.mockRestore();
  return count;
}
