import type { Logger } from '../src/lib/logger.ts';
import type { OwnedShards } from './owned-shards.ts';
import type { QueueBackend } from './queue-backend.ts';

/**
 * Takes free shards up to this worker's share, and gives up shards beyond it, so that all workers have about the same number.
 * @param mayTake false while the store may not know the leases of other workers
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
    logger.info({ workgroup: workgroupId, workers, shareMax }, 'shard.handing-over');
    ownedShards.giveUp(workgroupId, 'handed-over');
  }
  let free = mayTake ? shareMax - kept.length : 0;
  for (const workgroupId of workgroupIds) {
    if (free <= 0) return;
    if (ownedShards.mayTake(workgroupId) && (await ownedShards.take(workgroupId))) free -= 1;
  }
}

/** Removes the queues and schedules of workgroups that are no longer configured. */
export async function removeUnconfigured(
  backend: QueueBackend,
  workgroupIds: readonly string[],
  logger: Logger,
): Promise<void> {
  const { leases } = backend;
  for (const workgroupId of await leases.known()) {
    // A worker with another configuration may still work on it. It then has the lease.
    if (workgroupIds.includes(workgroupId) || !(await leases.hold(workgroupId))) continue;
    const queue = backend.queue(workgroupId);
    await queue.remove();
    await queue.close();
    await leases.forget(workgroupId);
    await leases.release(workgroupId);
    logger.info({ workgroup: workgroupId }, 'queue.removed');
  }
}
