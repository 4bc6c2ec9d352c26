import { query } from './query.ts';
import type { Shard } from './shard.ts';

/** How far later stages are: the last batches that every energy stream (there are `streams`) has taken in, and that the lake holds. */
export async function takenIn(
  shard: Shard,
  streams: number,
): Promise<{ rolledUpBatchId: number; publishedBatchId: number }> {
  return shard.transaction(async (connection) => {
    const [row] = await query<{ rolled_up_batch_id: bigint | null; published_batch_id: bigint }>(
      connection,
      'land/taken-in',
      { streams },
    );
    return {
      rolledUpBatchId: Number(row!.rolled_up_batch_id ?? -1n),
      publishedBatchId: Number(row!.published_batch_id),
    };
  });
}
