import type { DuckDBConnection } from '@duckdb/node-api';
import type { UtcMs } from '../lib/time.ts';
import type { PreparedWrite } from './landing-ledger.ts';
import { query } from './query.ts';

/**
 * An earlier log and the current log can contain the same messages. This makes sure that each of them counts
 * once.
 */
interface OtherLogs {
  /**
   * Deletes those messages of these writes that have already landed from another log. It runs in the
   * transaction that lands the writes.
   */
  dropLandedBefore(writes: readonly PreparedWrite[]): Promise<void>;
}

export function watchOtherLogs(connection: DuckDBConnection): OtherLogs {
  /** The newest message of other logs. Later messages cannot have been in them. */
  let known: { logEpoch: string; throughMs: UtcMs } | undefined;

  const throughMsOf = async (logEpoch: string): Promise<UtcMs> => {
    if (known?.logEpoch !== logEpoch) {
      const [row] = await query<{ last_store_time_ms: bigint | null }>(
        connection,
        'land/find_other_logs_through',
        {
          log_epoch: logEpoch,
        },
      );
      known = { logEpoch, throughMs: Number(row?.last_store_time_ms ?? Number.NEGATIVE_INFINITY) };
    }
    return known.throughMs;
  };

  return {
    async dropLandedBefore(writes) {
      for (const { batchId, content, after } of writes) {
        if (content === undefined || content.end === content.start || after.logEpoch === undefined) continue;
        const { firstStoreTimeMs, lastStoreTimeMs } = content;
        const throughMs = await throughMsOf(after.logEpoch);
        if (firstStoreTimeMs === undefined || lastStoreTimeMs === undefined || firstStoreTimeMs > throughMs)
          continue;
        await query(connection, 'land/forget_landed_before', {
          batch_id: batchId,
          first_ms: firstStoreTimeMs,
          last_ms: Math.min(lastStoreTimeMs, throughMs),
          log_epoch: after.logEpoch,
        });
        await query(connection, 'land/correct_batch', { batch_id: batchId });
      }
    },
  };
}
