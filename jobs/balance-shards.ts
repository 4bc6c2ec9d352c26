import type { Logger } from '../src/lib/logger.ts';
import type { Survey } from './lease.ts';
import type { OwnedShards } from './owned-shards.ts';

/** Gives up shards beyond this worker's share, so that all workers have about the same number of open shards. */
export function balanceShards(
  ownedShards: OwnedShards,
  { survey, logger }: { survey: Survey; logger: Logger },
): void {
  const { workers, awake } = survey;
  if (workers <= 1) return;
  const shareMax = Math.ceil(awake.length / workers);
  for (const workgroupId of ownedShards.kept().slice(shareMax)) {
    logger.info({ workgroup: workgroupId, workers, shareMax }, 'shard.handing-over');
    ownedShards.giveUp(workgroupId, 'handed-over');
  }
}
