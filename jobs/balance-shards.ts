import type { Logger } from '../src/lib/logger.ts';
import type { OwnedShards } from './owned-shards.ts';
import type { QueueBackend } from './queue-backend.ts';

/**
 * Takes free shards up to this worker's share of them, and hands over what it has beyond that, so that the shards
 * spread evenly over however many workers there are.
 * @param mayTake false while leases that others hold may not be known to the store
 */
export async function balanceShards(
  backend: QueueBackend,
  ownedShards: OwnedShards,
  options: { workgroupIds: readonly string[]; mayTake: boolean; logger: Logger },
): Promise<void> {
  const { workgroupIds, mayTake, logger } = options;
  const workers = await backend.leases.heartbeat();
  const shareMax = Math.ceil(workgroupIds.length / Math.max(workers, 1));
  const kept = ownedShards.kept();
  for (const workgroupId of kept.slice(shareMax)) {
    logger.info({ workgroupId, workers, shareMax }, 'shard.handing-over');
    ownedShards.giveUp(workgroupId, 'handed-over');
  }
  let free = mayTake ? shareMax - kept.length : 0;
  for (const workgroupId of workgroupIds) {
    if (free <= 0) return;
    if (ownedShards.mayTake(workgroupId) && (await ownedShards.take(workgroupId))) free -= 1;
  }
}

/** Removes the queues, schedules included, of workgroups that were configured once and are no more. */
export async function removeUnconfigured(
  backend: QueueBackend,
  workgroupIds: readonly string[],
  logger: Logger,
): Promise<void> {
  const { leases } = backend;
  for (const workgroupId of await leases.known()) {
    // A worker with another configuration may still be at work on it: its lease says so.
    if (workgroupIds.includes(workgroupId) || !(await leases.hold(workgroupId))) continue;
    const queue = backend.queue(workgroupId);
    await queue.remove();
    await queue.close();
    await leases.forget(workgroupId);
    await leases.release(workgroupId);
    logger.info({ workgroupId }, 'queue.removed');
  }
}
