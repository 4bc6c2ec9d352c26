import type { Logger } from '../lib/logger.ts';
import { type Clock, DAY_MS } from '../lib/time.ts';
import { query } from '../warehouse/query.ts';
import type { DeclaredStreams } from '../warehouse/stage-progress.ts';
import { readState } from './find-pieces.ts';
import { openLake } from './open-lake.ts';
import type { PublishableShard } from './publishable-shard.ts';

interface TrimOptions {
  lakeDir: string;
  keepMessagesMs: number;
  /** The energy streams. All of them must have read a message before it is deleted. */
  declared?: DeclaredStreams;
  clock: Clock;
  logger: Logger;
  dryRun?: boolean;
}

export interface TrimResult {
  /** The number of deleted messages. With `dryRun`: of messages that would be deleted. */
  messages: number;
}

/** How long rejected readings are kept. Messages of the quarantine stay. */
const KEEP_REJECTED_MS = 90 * DAY_MS;

/**
 * Deletes messages from the warehouse that are in the lake, rolled up, and old enough. Readings, intervals,
 * days and the ledger stay. Deletes rejected readings after 90 days.
 * @throws as openLake does; nothing is deleted then
 */
export async function trimWarehouse(shard: PublishableShard, options: TrimOptions): Promise<TrimResult> {
  const { head } = await openLake(shard, options);
  if (!head) return { messages: 0 };
  const messages = await shard.transaction(async (connection) => {
    const state = await readState(connection, options.declared ?? {});
    const published = BigInt(head.batchId);
    const [trimmed] = await query<{ row_count: number; batch_id: bigint | null }>(
      connection,
      'publish/find_trimmed',
      {
        batch_id: published < state.rolledUpBatchId ? published : state.rolledUpBatchId,
        before_ms: options.clock.now() - options.keepMessagesMs,
      },
    );
    const { row_count, batch_id } = trimmed!;
    if (options.dryRun) return row_count;
    if (batch_id !== null) await query(connection, 'publish/trim_messages', { batch_id });
    const before_ms = options.clock.now() - KEEP_REJECTED_MS;
    await query(connection, 'publish/mark_expired', { before_ms });
    await query(connection, 'publish/expire_rejected', { before_ms });
    return row_count;
  });
  if (messages > 0 && !options.dryRun)
    options.logger.info({ workgroup: shard.workgroupId, messages }, 'publish.trim');
  return { messages };
}
