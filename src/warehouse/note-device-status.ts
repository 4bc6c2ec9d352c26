import type { DuckDBConnection } from '@duckdb/node-api';
import type { UtcMs } from '../lib/time.ts';
import { query } from './query.ts';

/**
 * Takes the transitions of devices, and when each was last heard, out of the messages that have landed since the last call. Nothing
 * is computed anew: what it has seen it keeps, because messages go and states stay.
 * @param connection in a transaction
 */
export async function noteDeviceStatus(connection: DuckDBConnection, nowMs: UtcMs): Promise<void> {
  const [pending] = await query<{ after_batch_id: bigint; through_batch_id: bigint }>(
    connection,
    'device-status/find_pending',
  );
  const { after_batch_id, through_batch_id } = pending!;
  if (after_batch_id === through_batch_id) return;
  await query(connection, 'device-status/store_transitions', { after_batch_id, through_batch_id });
  await query(connection, 'device-status/mark_days', { after_batch_id });
  await query(connection, 'device-status/update_states', { after_batch_id, through_batch_id });
  await query(connection, 'device-status/store_progress', { batch_id: through_batch_id, now_ms: nowMs });
}
