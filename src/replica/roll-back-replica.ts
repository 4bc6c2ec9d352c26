import { commitText } from '../publish/lake-commit.ts';
import { commitKey, newNonce } from '../publish/lake-layout.ts';
import { createOnce } from '../storage/create-once.ts';
import type { ObjectStore } from '../storage/object-store.ts';
import { replacedError } from './claim-replica.ts';
import { parseReplicaCommit, type ReplicaCommit } from './replica-commit.ts';

/**
 * Adds a commit with the content of another one, and an epoch that is higher than both. The present owner
 * cannot create commits any more. No local warehouse belongs to the new commit, so the next owner restores
 * it. The store must have the objects of the content.
 * @param head the newest commit. Undefined if the replica is new
 * @throws StaleOwnerError if another worker has created a commit meanwhile; then nothing has changed
 * @throws TransientError if the outcome is not known
 */
export async function rollBackReplica(
  store: ObjectStore,
  head: ReplicaCommit | undefined,
  content: ReplicaCommit,
  signal?: AbortSignal,
): Promise<ReplicaCommit> {
  // The warehouse in the content refuses owners with an earlier epoch.
  let epoch = BigInt(content.ownerEpoch);
  if (head && BigInt(head.ownerEpoch) > epoch) epoch = BigInt(head.ownerEpoch);
  const { idle: _, ...data } = content;
  const commit: ReplicaCommit = {
    ...data,
    sequence: (head?.sequence ?? 0) + 1,
    nonce: newNonce(),
    previousNonce: head?.nonce ?? null,
    ownerEpoch: String(epoch + 1n),
  };
  const outcome = await createOnce(store, {
    key: commitKey(commit.sequence),
    bytes: Buffer.from(commitText(commit)),
    signal,
  });
  if (outcome.kind === 'unknown') throw outcome.cause;
  if (outcome.kind === 'taken')
    throw replacedError(head ?? content, parseReplicaCommit(store, commit.sequence, outcome.bytes));
  return commit;
}
