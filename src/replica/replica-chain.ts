import type { StaleOwnerError } from '../lib/errors.ts';
import { createInTurn, type InTurn } from '../lib/in-turn.ts';
import { type Clock, DAY_MS, elapsedOf } from '../lib/time.ts';
import { commitText } from '../publish/lake-commit.ts';
import { commitKey, newNonce } from '../publish/lake-layout.ts';
import { createOnce } from '../storage/create-once.ts';
import type { ObjectStore } from '../storage/object-store.ts';
import { replacedError } from './claim-replica.ts';
import {
  listReplicaCommits,
  parseReplicaCommit,
  type ReplicaCommit,
  readReplicaCommit,
} from './replica-commit.ts';
import type { RecordReplication } from './replication-state.ts';

/**
 * The commits of a replica as its owner adds them: one after the other, and each at most once, even if
 * requests and answers are lost.
 */
interface ReplicaChain {
  /** The newest commit. */
  head(): ReplicaCommit;
  /** The fields of the next commit. They are valid until a commit is added. */
  next(): Pick<ReplicaCommit, 'sequence' | 'nonce' | 'previousNonce'>;
  /**
   * Runs work when the earlier work has ended.
   * @throws StaleOwnerError without running it if another worker has claimed the workgroup
   */
  inTurn: InTurn;
  /**
   * Adds the next commit. If it fails, the commit exists or not, and `settle` finds out.
   * @throws StaleOwnerError if the key is taken
   */
  add(commit: ReplicaCommit, signal?: AbortSignal): Promise<void>;
  /**
   * Creates a commit that was sent, or finds out what became of it. To be called before anything else is
   * created.
   * @throws as `add` does
   */
  settle(signal?: AbortSignal): Promise<void>;
  /** Looks for a later commit with one request. @throws StaleOwnerError if it finds one */
  look(signal?: AbortSignal): Promise<void>;
  /** Ends the chain. @param by a commit of another owner */
  loseTo(by: ReplicaCommit): never;
}

interface ReplicaChainOptions {
  store: ObjectStore;
  /** The own claim. */
  claim: ReplicaCommit;
  record: RecordReplication;
  /** Called as soon as a commit is the newest one. */
  onAdded(commit: ReplicaCommit): void;
  clock: Clock;
}

/**
 * After this time without a commit, the key of the next commit can have been used and deleted. Keys are kept
 * for seven times as long.
 */
const FREE_KEY_TRUSTED_MS = DAY_MS;

export function createReplicaChain(options: ReplicaChainOptions): ReplicaChain {
  const { store, claim, record, onAdded, clock } = options;
  let head = claim;
  let headAt = instant();
  /**
   * A commit that was sent. It exists or not, or it can still arrive. Nothing else may be created before this
   * is known.
   */
  let pending: ReplicaCommit | undefined;
  let lost: StaleOwnerError | undefined;
  const turns = createInTurn();

  function instant() {
    return { nowMs: clock.now(), elapsedMs: elapsedOf(clock) };
  }

  function loseTo(by: ReplicaCommit): never {
    lost = replacedError(head, by);
    throw lost;
  }

  async function settle(signal?: AbortSignal): Promise<void> {
    if (!pending) return;
    const commit = pending;
    const outcome = await createOnce(store, {
      key: commitKey(commit.sequence),
      bytes: Buffer.from(commitText(commit)),
      signal,
    });
    if (outcome.kind === 'unknown') throw outcome.cause;
    if (outcome.kind === 'taken') loseTo(parseReplicaCommit(store, commit.sequence, outcome.bytes));
    const { nowMs, elapsedMs } = instant();
    // A process that was stopped for a week can create a commit with a number that was used and deleted. Then
    // later commits exist.
    if (Math.max(nowMs - headAt.nowMs, elapsedMs - headAt.elapsedMs) >= FREE_KEY_TRUSTED_MS)
      await refuseLaterCommit(commit, signal);
    await record('replicated', commit);
    head = commit;
    headAt = instant();
    pending = undefined;
    onAdded(commit);
  }

  /** @throws StaleOwnerError if a commit after this one exists */
  async function refuseLaterCommit({ sequence }: ReplicaCommit, signal?: AbortSignal): Promise<void> {
    for await (const later of listReplicaCommits(store, sequence, { keysMax: 1, signal })) {
      const by = await readReplicaCommit(store, later.sequence, signal);
      if (by) loseTo(by);
    }
  }

  return {
    head: () => head,
    next: () => ({ sequence: head.sequence + 1, nonce: newNonce(), previousNonce: head.nonce }),
    inTurn: (work) =>
      turns(async () => {
        if (lost) throw lost;
        return work();
      }),
    async add(commit, signal) {
      await record('replica_planned', commit);
      pending = commit;
      await settle(signal);
    },
    settle,
    async look(signal) {
      // The later commit may be the own one that was sent. The next `settle` finds out.
      if (!pending) await refuseLaterCommit(head, signal);
    },
    loseTo,
  };
}
