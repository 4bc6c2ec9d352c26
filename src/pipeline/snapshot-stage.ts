import { commitSnapshot } from '../backup/commit-snapshot.ts';
import type { RestorableCommit } from '../backup/stored-commits.ts';
import { errorMessage, TransientError } from '../lib/errors.ts';
import { elapsedOf } from '../lib/time.ts';
import { lakeFolder } from './assignment.ts';
import type { OpenShard } from './open-shard.ts';

/**
 * Adds a generation with a snapshot of the warehouse, if the newest generation has none or if `isForced`.
 * @returns the newest generation
 * @throws as commitSnapshot does
 */
export async function takeSnapshotNow(
  { shard, assignment, imports, snapshots, clock, logger }: OpenShard,
  isForced = false,
  signal?: AbortSignal,
): Promise<RestorableCommit> {
  // Changes during the snapshot are not in it. They set `isWanted` again, so that another snapshot follows.
  const wasWanted = snapshots.isWanted;
  // If an import runs, the snapshot contains only a part of it, so another one is wanted. After a failed
  // import, `state` throws the error of the import.
  snapshots.isWanted = await imports.state().then(
    ({ kind }) => kind === 'running',
    () => false,
  );
  try {
    const lakeDir = lakeFolder(assignment);
    const generation = await commitSnapshot(shard, { lakeDir, isForced, clock, logger, signal });
    snapshots.lastAtMs = elapsedOf(clock);
    return generation;
  } catch (error) {
    snapshots.isWanted ||= wasWanted;
    throw error;
  }
}

/**
 * Takes a snapshot once in `pipeline.snapshotEvery`, and soon after something that the stream does not have,
 * such as an upload. A failure is logged, and the next call tries again.
 */
export async function takeSnapshotIfDue(open: OpenShard): Promise<void> {
  const { shard, assignment, snapshots, clock, logger } = open;
  const { lastAtMs, isWanted } = snapshots;
  const isDue = lastAtMs === undefined || elapsedOf(clock) - lastAtMs >= assignment.pipeline.snapshotEvery;
  if (!isDue && !isWanted) return;
  try {
    await takeSnapshotNow(open);
  } catch (error) {
    // A new workgroup has nothing to restore.
    if (error instanceof TransientError && error.code === 'NothingPublished') return;
    logger.warn({ workgroup: shard.workgroupId, error: errorMessage(error) }, 'snapshot.failed');
  }
}
