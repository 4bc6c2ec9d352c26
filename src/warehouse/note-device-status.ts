import type { DuckDBConnection } from '@duckdb/node-api';
import { MINUTE_MS, type UtcMs } from '../lib/time.ts';
import { loadSql } from './load-sql.ts';
import { query, queryLiterally } from './query.ts';

/**
 * Stores the transitions of devices, and the time of the last message of each, from the messages that have
 * landed since the last call. Stored transitions are never computed again, because their messages are deleted
 * after some time and the states must stay.
 * @param connection in a transaction
 */
export async function noteDeviceStatus(connection: DuckDBConnection, nowMs: UtcMs): Promise<void> {
  const [pending] = await query<{ after_batch_id: bigint; through_batch_id: bigint }>(
    connection,
    'device-status/find_pending',
  );
  const { after_batch_id, through_batch_id } = pending!;
  if (after_batch_id === through_batch_id) return;
  await queryLiterally(connection, loadSql('device-status/store_transitions'), {
    after_batch_id,
    through_batch_id,
  });
  await queryLiterally(connection, loadSql('device-status/mark_days'), { after_batch_id });
  await queryLiterally(connection, loadSql('device-status/update_states'), {
    after_batch_id,
    through_batch_id,
    minute_ms: MINUTE_MS,
    now_ms: nowMs,
  });
  await queryLiterally(connection, loadSql('device-status/store_progress'), {
    batch_id: through_batch_id,
    now_ms: nowMs,
  });
}
