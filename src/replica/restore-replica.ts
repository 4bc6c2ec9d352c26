import { lacking } from '../backup/backup-lake.ts';
import type { RestorePoint } from '../backup/stored-commits.ts';
import { StaleOwnerError, TerminalError } from '../lib/errors.ts';
import type { ObjectStore } from '../storage/object-store.ts';
import {
  generationOf,
  listReplicaCommits,
  objectsNeeded,
  type ReplicaCommit,
  readReplicaCommit,
  readReplicaHead,
} from './replica-commit.ts';
import { rollBackReplica } from './roll-back-replica.ts';

export interface RestoredCommit {
  /** The newest commit of the replica now. */
  commit: ReplicaCommit;
  /** False if the replica had this content already. */
  isNew: boolean;
  /** The commit with data that was the newest one before. Undefined if nothing was replaced. */
  replaced: number | undefined;
}

/** An owner can add a commit first. That happens only a few times, because an owner commits rarely. */
const ATTEMPTS_MAX = 20;

/**
 * Finds the commit to restore: the newest one with a generation that is not after the asked one. The time of
 * a commit is the time of the store.
 * @throws TerminalError `NothingToRestore`
 */
export async function findReplicaCommit(
  store: ObjectStore,
  at: Exclude<RestorePoint, { kind: 'newest' }>,
  signal?: AbortSignal,
): Promise<ReplicaCommit> {
  const listed: number[] = [];
  const candidates: number[] = [];
  for await (const { sequence, modifiedAtMs } of listReplicaCommits(store, 0, {
    signal,
  })) {
    listed.push(sequence);
    if (at.kind === 'sequence' ? sequence <= at.sequence : modifiedAtMs <= at.ms) candidates.push(sequence);
  }
  for (const sequence of candidates.reverse()) {
    const commit = await readReplicaCommit(store, sequence, signal);
    if (commit && generationOf(commit)) return commit;
  }
  throw new TerminalError(
    'NothingToRestore',
    `${store.address} has nothing to restore: ${listed.length === 0 ? 'it has no commits; check the bucket and the workgroup' : `its commits are ${listed[0]} to ${listed.at(-1)}, but neither the one that you asked for nor an earlier one has data`}`,
  );
}

/**
 * Makes the content of a commit the newest one of a replica. The running owner is replaced: it stops at its
 * next commit, and the next owner continues from this content.
 * @throws TerminalError `ObjectMissing` if the store does not have all objects any more; then the content is
 *   as before
 */
export async function restoreReplica(
  store: ObjectStore,
  content: ReplicaCommit,
  signal?: AbortSignal,
): Promise<RestoredCommit> {
  await refuseMissingObjects(store, content, signal);
  for (let attempt = 1; ; attempt++) {
    const head = await readReplicaHead(store, { signal });
    if (head?.generation && head.generation.nonce === content.generation?.nonce)
      return { commit: head, isNew: false, replaced: undefined };
    try {
      const commit = await rollBackReplica(store, head, content, signal);
      // The earlier owner may have deleted old objects a moment ago.
      await refuseMissingObjects(store, content, signal).catch(async (error: unknown) => {
        if (head) await rollBackReplica(store, commit, head, signal);
        throw error;
      });
      return { commit, isNew: true, replaced: head?.generation ? head.sequence : undefined };
    } catch (error) {
      if (!(error instanceof StaleOwnerError) || attempt === ATTEMPTS_MAX) throw error;
    }
  }
}

/** @throws TerminalError `ObjectMissing` if the store does not have all objects of a commit */
export async function refuseMissingObjects(
  store: ObjectStore,
  content: ReplicaCommit,
  signal?: AbortSignal,
): Promise<void> {
  const { sequence } = content;
  const [first] = await lacking(store, objectsNeeded(content), signal);
  if (!first) return;
  throw new TerminalError(
    'ObjectMissing',
    `${store.address}/${first.key} does not exist any more, but commit ${sequence} needs it. The bucket keeps the files of a commit for a day: choose a later commit, or restore a backup`,
  );
}
