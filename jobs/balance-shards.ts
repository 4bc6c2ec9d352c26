import type { Logger } from '../src/lib/logger.ts';
import type { Survey } from './leases.ts';

interface BalanceOptions {
  survey: Survey;
  /** Hands a shard over to a worker that has fewer than `shareMax`. */
  handOver(workgroupId: string, shareMax: number): void;
  logger: Logger;
}

/**
 * Hands over the shards beyond this worker's share, so that all workers have about the same number of open
 * shards.
 */
export function balanceShards(kept: readonly string[], { survey, handOver, logger }: BalanceOptions): void {
  const { workers, awake } = survey;
  if (workers <= 1) return;
  const shareMax = Math.ceil(awake.length / workers);
  for (const workgroupId of kept.slice(shareMax)) {
    logger.info({ workgroup: workgroupId, workers, shareMax }, 'shard.handing-over');
    handOver(workgroupId, shareMax);
  }
}
