import type { RestorableCommit } from '../backup/stored-commits.ts';
import { StaleOwnerError } from '../lib/errors.ts';
import { type Clock, DAY_MS, elapsedOf } from '../lib/time.ts';
import { commitText } from '../publish/lake-commit.ts';
import { commitKey, fileKey, newNonce } from '../publish/lake-layout.ts';
import { packsOf } from '../snapshot/take-snapshot.ts';
import { createOnce } from '../storage/create-once.ts';
import { createFolderStore } from '../storage/folder-store.ts';
import type { ObjectStore } from '../storage/object-store.ts';
import { replaced } from './claim-replica.ts';
import { type Collected, type CollectOptions, createCollector } from './collect-replica.ts';
import {
  listReplicaCommits,
  objectKeys,
  parseReplicaCommit,
  type ReplicaCommit,
  readReplicaCommit,
} from './replica-commit.ts';
import type { RecordReplication } from './replication-state.ts';
import { uploadObjects } from './upload-objects.ts';

export interface ReplicaOwnerOptions {
  store: ObjectStore;
  /** The own claim. */
  claim: ReplicaCommit;
  /** The folder of the workgroup's local lake. */
  root: string;
  record: RecordReplication;
  clock: Clock;
}

export type Mirrored =
  | { kind: 'unchanged'; sequence: number }
  | { kind: 'mirrored'; sequence: number; objects: number; bytes: number };

/** The owner of a workgroup, which alone adds commits to its replica. Calls run one after the other. */
export interface ReplicaOwner {
  readonly epoch: bigint;
  /** The newest commit. */
  head(): ReplicaCommit;
  /**
   * Copies a generation of the local lake, with its snapshot: first the objects that the replica lacks, then the commit. Sends nothing if the newest
   * commit is a copy of it. If it fails, the replica has the commit before, or the new one; the next call finds out.
   * @throws StaleOwnerError if another worker has claimed the workgroup. Then this owner is over
   * @throws TransientError if the same call, or one with a later generation, can succeed later
   */
  mirror(generation: RestorableCommit, signal?: AbortSignal): Promise<Mirrored>;
  /** Deletes what is not needed any more, see `createCollector`. @throws StaleOwnerError */
  collect(options?: CollectOptions): Promise<Collected>;
}

/** After this time without a commit, the key of the next commit can have been used and deleted. Keys are kept for seven times as long. */
const SURE_MS = DAY_MS;

/** Begins the work of an owner after its claim. Stores the claim in the warehouse. */
export async function openReplicaOwner(options: ReplicaOwnerOptions): Promise<ReplicaOwner> {
  const { store, claim, root, record, clock } = options;
  const epoch = BigInt(claim.ownerEpoch);
  const collector = createCollector(store);
  let head = claim;
  let headAt = instant();
  /** Objects of the newest commit, and those that were uploaded for a commit that does not exist yet. */
  let stored = new Set(objectKeys(claim));
  /** A commit that was sent. It exists or not, or it can still arrive. Nothing else may be created before this is known. */
  let pending: ReplicaCommit | undefined;
  let lost: StaleOwnerError | undefined;
  let last: Promise<unknown> = Promise.resolve();
  await record('replicated', claim);

  function instant() {
    return { nowMs: clock.now(), elapsedMs: elapsedOf(clock) };
  }

  function inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
    const result = last.then(() => {
      if (lost) throw lost;
      return work();
    });
    last = result.catch(() => undefined);
    return result;
  }

  function stop(by: ReplicaCommit): never {
    lost = replaced(head, by);
    throw lost;
  }

  /** Creates the pending commit, or finds out what became of it. */
  async function settlePending(signal?: AbortSignal): Promise<void> {
    if (!pending) return;
    const commit = pending;
    const outcome = await createOnce(store, {
      key: commitKey(commit.sequence),
      bytes: Buffer.from(commitText(commit)),
      ...(signal && { signal }),
    });
    if (outcome.kind === 'unknown') throw outcome.cause;
    if (outcome.kind === 'taken') stop(parseReplicaCommit(store, commit.sequence, outcome.bytes));
    await refuseLateCommit(commit, signal);
    await record('replicated', commit);
    head = commit;
    headAt = instant();
    stored = new Set(objectKeys(commit));
    pending = undefined;
    collector.add(commit);
  }

  /** A process that was stopped for a week can create a commit whose number was used and deleted. Then later commits exist. */
  async function refuseLateCommit({ sequence }: ReplicaCommit, signal?: AbortSignal): Promise<void> {
    const { nowMs, elapsedMs } = instant();
    if (Math.max(nowMs - headAt.nowMs, elapsedMs - headAt.elapsedMs) < SURE_MS) return;
    for await (const later of listReplicaCommits(store, sequence, signal)) {
      const by = await readReplicaCommit(store, later.sequence, signal);
      if (by) stop(by);
    }
  }

  async function mirror(generation: RestorableCommit, signal?: AbortSignal): Promise<Mirrored> {
    await settlePending(signal);
    if (head.generation?.nonce === generation.nonce) return { kind: 'unchanged', sequence: head.sequence };
    if (BigInt(generation.ownerEpoch) > epoch)
      throw new StaleOwnerError(generation.workgroupId, epoch, BigInt(generation.ownerEpoch));
    const packs = await packsOf(createFolderStore(root), generation.snapshot, signal);
    const needed = [
      ...generation.files.map((file) => ({ key: fileKey(file), bytes: file.bytes, sha256: file.sha256 })),
      ...packs,
    ];
    const missing = needed.filter(({ key }) => !stored.has(key));
    await uploadObjects(store, root, missing, {
      onStored: ({ key }) => stored.add(key),
      ...(signal && { signal }),
    });
    const { sequence, nonce } = generation;
    const commit: ReplicaCommit = {
      ...generation,
      sequence: head.sequence + 1,
      nonce: newNonce(),
      previousNonce: head.nonce,
      ownerEpoch: claim.ownerEpoch,
      generation: { sequence, nonce, packs },
    };
    await record('replica_planned', commit);
    pending = commit;
    await settlePending(signal);
    const bytes = missing.reduce((sum, object) => sum + object.bytes, 0);
    return { kind: 'mirrored', sequence: commit.sequence, objects: missing.length, bytes };
  }

  return {
    epoch,
    head: () => head,
    mirror: (generation, signal) => inTurn(() => mirror(generation, signal)),
    collect: (collectOptions = {}) =>
      inTurn(async () => {
        await settlePending(collectOptions.signal);
        return collector.collect(head, {
          ...collectOptions,
          onLater: stop,
          onDeleted: (key) => stored.delete(key),
        });
      }),
  };
}
