import { copyObjects, objectsOf } from '../backup/backup-lake.ts';
import { bundledStore, withoutBundles } from '../backup/bundled-store.ts';
import { findRestorable, type RestorePoint } from '../backup/stored-commits.ts';
import { TerminalError } from '../lib/errors.ts';
import { packsOf } from '../snapshot/take-snapshot.ts';
import type { ObjectStore } from '../storage/object-store.ts';
import { type ReplicaCommit, readReplicaHead } from './replica-commit.ts';
import { type RestoredCommit, restoreReplica } from './restore-replica.ts';

interface RestoreBackupOptions {
  /** The backup of the workgroup. */
  source: ObjectStore;
  at: RestorePoint;
  /** Replaces data that the replica has. */
  force: boolean;
  /** A folder for one object at a time. It is deleted at the end. */
  stagingDir: string;
  signal?: AbortSignal;
}

/**
 * An owner can delete an object that nothing has named for a day, before the new commit names it. Objects
 * that were copied again are young.
 */
const COPIES_MAX = 3;

/**
 * Copies a backup into a replica, and makes it the newest commit. The owner can run meanwhile. If this is
 * interrupted, the replica has its old content, and the next call within a day copies the rest.
 * @throws TerminalError `DataExists` without `force`, `NothingToRestore`, `ObjectMissing`
 */
export async function restoreBackup(
  target: ObjectStore,
  { source, at, force, stagingDir, signal }: RestoreBackupOptions,
): Promise<RestoredCommit & { content: ReplicaCommit }> {
  const head = await readReplicaHead(target, { signal });
  if (head?.generation && !force)
    throw new TerminalError(
      'DataExists',
      `${target.address} has data already: commit ${head.sequence}. Nothing was restored. With --force the backup replaces it; "wattline restore --at ${head.sequence}" brings it back within a day`,
    );
  const { commit } = await findRestorable(source, at, signal);
  const files = bundledStore(source, commit);
  const objects = await objectsOf(files, commit, signal);
  const { sequence, nonce } = commit;
  const content: ReplicaCommit = {
    ...withoutBundles(commit),
    previousNonce: null,
    generation: { sequence, nonce, packs: await packsOf(files, commit.snapshot, signal) },
  };
  for (let copy = 1; ; copy++) {
    await copyObjects(objects, { source: { store: files }, target, stagingDir, signal });
    try {
      return { content, ...(await restoreReplica(target, content, signal)) };
    } catch (error) {
      const isMissing = error instanceof TerminalError && error.code === 'ObjectMissing';
      if (!isMissing || copy === COPIES_MAX) throw error;
    }
  }
}
