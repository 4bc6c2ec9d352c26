import type { DuckDBConnection } from '@duckdb/node-api';
import type { WorkgroupConfig } from '../config/config.ts';
import { loadSql } from './load-sql.ts';
import { queryLiterally } from './query.ts';

/** The configured energy streams. Without any, there is nothing to roll up. */
export type DeclaredStreams = Partial<Pick<WorkgroupConfig, 'energyStreams'>>;

/**
 * Reads how far later stages are: the last batch that is rolled up for every energy stream, and the last
 * batch whose energy is published.
 */
export async function readStageProgress(
  connection: DuckDBConnection,
  { energyStreams = [] }: DeclaredStreams,
): Promise<{ rolledUpBatchId: number; publishedBatchId: number }> {
  const [row] = await queryLiterally<{ rolled_up_batch_id: bigint; published_batch_id: bigint }>(
    connection,
    loadSql('land/find_taken_in'),
    { streams: energyStreams.length },
  );
  return {
    rolledUpBatchId: Number(row!.rolled_up_batch_id),
    publishedBatchId: Number(row!.published_batch_id),
  };
}
