import { MINUTE_MS } from '../../lib/time.ts';
import { openQueryPool } from '../../report/lake/query-pool.ts';
import type { BalanceCase } from './balance-case.ts';
import { type BalanceResult, runBalanceCase } from './run-balance-case.ts';

const pool = {
  folders: [],
  threads: 2,
  memoryMegabytes: 1_024,
  queriesMax: 1,
  waitingMax: 1,
  queryMsMax: 10 * MINUTE_MS,
};

/** Computes cases of the energy balance one after another, in a database in memory. */
export async function replayBalances(
  cases: readonly BalanceCase[],
  signal: AbortSignal,
  onReplayed: (name: string, result: BalanceResult) => void,
): Promise<void> {
  const database = await openQueryPool(pool);
  try {
    for (const balanceCase of cases) {
      signal.throwIfAborted();
      onReplayed(
        balanceCase.name,
        await database.run((connection) => runBalanceCase(connection, balanceCase), signal),
      );
    }
  } finally {
    await database.close();
  }
}
