import { errorMessage, StaleOwnerError } from '../lib/errors.ts';
import type { Logger } from '../lib/logger.ts';
import type { ReplicaOwner } from '../replica/replica-owner.ts';

/** Deletes, in the background, the objects of a bucket that no kept commit needs. */
interface BackgroundCollection {
  /** Starts if an hour has passed since the last time. */
  startIfDue(): void;
  /** Interrupts a running collection, so that a commit does not have to wait. The next start continues it. */
  interrupt(): Promise<void>;
}

/**
 * Acknowledgements do not depend on the collection: it runs after a commit, and its failures are logged.
 * @param onLost called if another worker has claimed the workgroup
 */
export function createBackgroundCollection({
  owner,
  workgroupId,
  onLost,
  logger,
}: {
  owner: Pick<ReplicaOwner, 'isCollectionDue' | 'collect'>;
  workgroupId: string;
  onLost: (error: StaleOwnerError) => void;
  logger: Logger;
}): BackgroundCollection {
  let running: Promise<void> | undefined;
  let interrupting = new AbortController();

  async function collect(signal: AbortSignal): Promise<void> {
    try {
      const collected = await owner.collect({ signal });
      logger.info({ workgroup: workgroupId, ...collected }, 'bucket.collected');
    } catch (error) {
      if (error instanceof StaleOwnerError) onLost(error);
      else if (!signal.aborted)
        logger.warn({ workgroup: workgroupId, error: errorMessage(error) }, 'bucket.not-collected');
    }
  }

  return {
    startIfDue() {
      if (running || !owner.isCollectionDue()) return;
      interrupting = new AbortController();
      running = collect(interrupting.signal).finally(() => {
        running = undefined;
      });
    },
    async interrupt() {
      interrupting.abort(new Error('a commit is more urgent than the collection'));
      await running;
    },
  };
}
