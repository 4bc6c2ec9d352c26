import { StaleOwnerError, TerminalError } from '../lib/errors.ts';
import type { Clock } from '../lib/time.ts';
import { commitText } from '../publish/lake-commit.ts';
import { commitKey, newNonce } from '../publish/lake-layout.ts';
import { createOnce } from '../storage/create-once.ts';
import type { ObjectStore } from '../storage/object-store.ts';
import { type ReplicaCommit, readReplicaHead } from './replica-commit.ts';

interface ClaimReplicaOptions {
  workgroupId: string;
  /** The new epoch is higher than this. Default: 0. */
  epochAbove?: bigint;
  /** True if the owner has published, and its generations can be missing in the replica. Default: false. */
  hasPublished?: boolean;
  /**
   * The nonce of an own claim that was not used. If it is the newest commit, it is used now, and nothing is
   * added to the replica.
   */
  unused?: string | undefined;
  clock: Clock;
  /** Called before a claim is sent, or used again. */
  onPlanned?: (claim: ReplicaClaim) => void;
  signal?: AbortSignal;
}

interface ReplicaClaim {
  /** The claim. The caller owns the workgroup until a later claim exists. */
  commit: ReplicaCommit;
  /** The newest commit before: the claim itself if it is used again. Undefined if the replica is new. */
  previous: ReplicaCommit | undefined;
}

/**
 * Makes the caller the owner of a workgroup. The claim is a commit with the next epoch and the content of the
 * newest commit. Earlier owners cannot create commits any more, because the next number is taken.
 * @throws TerminalError `ForeignReplica` if the store has another workgroup
 * @throws TransientError if the outcome is not known. Then the same call makes another claim, which is safe
 */
export async function claimReplica(store: ObjectStore, options: ClaimReplicaOptions): Promise<ReplicaClaim> {
  const { workgroupId, epochAbove = 0n, clock, signal } = options;
  let known: number | undefined;
  for (;;) {
    signal?.throwIfAborted();
    const previous = await readReplicaHead(store, {
      ...(known !== undefined && { known }),
      signal,
    });
    if (previous && previous.workgroupId !== workgroupId)
      throw new TerminalError(
        'ForeignReplica',
        `${store.address} has the workgroup ${previous.workgroupId}, not ${workgroupId}; use another prefix`,
      );
    if (previous && previous.nonce === options.unused && BigInt(previous.ownerEpoch) > epochAbove) {
      const again = { commit: previous, previous };
      options.onPlanned?.(again);
      return again;
    }
    const epoch =
      previous && BigInt(previous.ownerEpoch) > epochAbove ? BigInt(previous.ownerEpoch) : epochAbove;
    const { idle: _, ...content } = previous ?? emptyCommit(workgroupId, clock.now());
    const commit: ReplicaCommit = {
      ...content,
      sequence: (previous?.sequence ?? 0) + 1,
      nonce: newNonce(),
      previousNonce: previous?.nonce ?? null,
      ownerEpoch: String(epoch + 1n),
      ...(options.hasPublished && !previous?.generation && { hasPublished: true }),
    };
    options.onPlanned?.({ commit, previous });
    const outcome = await createOnce(store, {
      key: commitKey(commit.sequence),
      bytes: Buffer.from(commitText(commit)),
      signal,
    });
    if (outcome.kind === 'created') return { commit, previous };
    if (outcome.kind === 'unknown') throw outcome.cause;
    known = commit.sequence;
  }
}

/** The error of an owner whose next commit was created by another one. */
export function replacedError(owner: ReplicaCommit, by: ReplicaCommit): StaleOwnerError {
  return new StaleOwnerError(owner.workgroupId, BigInt(owner.ownerEpoch), BigInt(by.ownerEpoch));
}

function emptyCommit(workgroupId: string, nowMs: number): ReplicaCommit {
  return {
    format: 2,
    workgroupId,
    sequence: 1,
    nonce: '',
    previousNonce: null,
    generation: null,
    createdAtMs: nowMs,
    ownerEpoch: '0',
    warehouseCreatedAtMs: 0,
    batchId: '-1',
    rolledUpBatchId: '-1',
    checkpoints: [],
    totals: { messages: 0, dailyEnergyWh: 0 },
    files: [],
  };
}
