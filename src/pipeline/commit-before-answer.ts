import { errorMessage, NOT_IN_BUCKET, StaleOwnerError, TransientError } from '../lib/errors.ts';
import { SECOND_MS } from '../lib/time.ts';
import { withTimeout } from '../lib/with-timeout.ts';
import type { OpenShard } from './open-shard.ts';

/** A caller waits this long for the bucket. */
const BUCKET_WAIT_MS = 20 * SECOND_MS;

/**
 * Waits until a commit of the bucket has everything that was stored before the call. After that the data
 * survives the loss of this machine. Without a bucket this does nothing.
 * @param next tells the caller what to do if the bucket does not answer
 * @throws TransientError `NotInBucket` if the bucket has not answered within 20 s. A later commit contains
 *   the data if this machine is not lost before
 * @throws StaleOwnerError if another worker has claimed the workgroup. That worker has the data only if an
 *   earlier commit contained it
 */
export async function commitBeforeAnswer(
  { bucket, shard, logger }: Pick<OpenShard, 'bucket' | 'shard' | 'logger'>,
  next: string,
): Promise<void> {
  if (!bucket) return;
  try {
    if ((await withTimeout(bucket.commit({ isComplete: false }), BUCKET_WAIT_MS)) !== 'late') return;
    throw new TransientError('StorageBusy', `it has not answered within ${BUCKET_WAIT_MS / SECOND_MS} s`);
  } catch (error) {
    if (error instanceof StaleOwnerError) throw error;
    logger.warn({ workgroup: shard.workgroupId, error: errorMessage(error) }, 'bucket.not-acknowledged');
    throw new TransientError(
      NOT_IN_BUCKET,
      `it is stored on the machine of the worker and not in the bucket yet, because the bucket cannot be reached; ${next}`,
      { cause: error },
    );
  }
}
