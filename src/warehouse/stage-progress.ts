import type { DuckDBConnection } from '@duckdb/node-api';
import type { WorkgroupConfig } from '../config/config.ts';
import { query } from './query.ts';

/** Which energy streams are configured: where there are none, nothing has to be rolled up. */
export type DeclaredStreams = Partial<Pick<WorkgroupConfig, 'energyStreams'>>;

/** How far later stages are: the last batches that every energy stream has taken in, and whose energy readers of the lake see. */
export async function takenIn(
  connection: DuckDBConnection,
  { energyStreams = [] }: DeclaredStreams,
): Promise<{ rolledUpBatchId: number; publishedBatchId: number }> {
  const [row] = await query<{ rolled_up_batch_id: bigint; published_batch_id: bigint }>(
    connection,
    'land/find_taken_in',
    { streams: energyStreams.length },
  );
  return {
    rolledUpBatchId: Number(row!.rolled_up_batch_id),
    publishedBatchId: Number(row!.published_batch_id),
  };
}
