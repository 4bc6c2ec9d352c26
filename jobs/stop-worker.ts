import type { Logger } from '../src/lib/logger.ts';
import { SECOND_MS } from '../src/lib/time.ts';
import { withTimeout } from '../src/lib/with-timeout.ts';
import type { Handovers } from './handovers.ts';
import type { OwnedShards } from './owned-shards.ts';
import type { QueueBackend } from './queue-backend.ts';

interface StopWorkerOptions {
  backend: QueueBackend;
  ownedShards: OwnedShards;
  handovers: Handovers;
  /** Resolves when the last round has ended. */
  roundsEnded: Promise<void>;
  /** Closes the queue of the jobs. */
  closeJobs: () => Promise<void>;
  /** The longest time for giving up the shards. */
  giveUpMs: number;
  logger: Logger;
}

const QUEUE_CLOSE_TIMEOUT_MS = SECOND_MS;

/**
 * Gives up all shards of a worker that begins nothing new, within `giveUpMs` and 2 s, and leaves the other
 * workers. Never throws.
 */
export async function stopWorker(options: StopWorkerOptions): Promise<void> {
  const { backend, ownedShards, handovers, roundsEnded, closeJobs, giveUpMs, logger } = options;
  const { leases, workerId } = backend;

  /** Hands over to the other workers, if there are any. */
  async function handOverAll(): Promise<void> {
    const { workers, awake } = await leases.survey();
    // The others take the workgroups of this worker as soon as they are released.
    await leases.leave();
    if (workers <= 1) return;
    const shareMax = Math.ceil(awake.length / (workers - 1));
    await Promise.all(ownedShards.remaining().map((id) => handovers.handOver(id, 'worker-stops', shareMax)));
  }

  const renewing = setInterval(() => void ownedShards.renew(), leases.leaseMs / 5);
  const gaveUp = roundsEnded
    .then(() => handOverAll().catch(() => undefined))
    .then(() => ownedShards.giveUpAll('worker-stops'));
  const gaveUpInTime = await withTimeout(gaveUp, giveUpMs);
  clearInterval(renewing);
  await withTimeout(
    Promise.all([
      // If the shards are not closed in time, their leases are released now. Otherwise the next owners would
      // wait until the leases end. Their claims refuse everything that this worker still writes.
      gaveUpInTime === 'late' && ownedShards.releaseAll(),
      closeJobs(),
    ]),
    QUEUE_CLOSE_TIMEOUT_MS,
  ).catch(() => undefined);
  await withTimeout(backend.close(), QUEUE_CLOSE_TIMEOUT_MS).catch(() => undefined);
  logger.info({ workerId, late: gaveUpInTime === 'late' }, 'worker.stopped');
}
