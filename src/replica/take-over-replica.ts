import { type PreparedRestore, restoreLake } from '../backup/restore-lake.ts';
import { TransientError } from '../lib/errors.ts';
import { type Clock, SECOND_MS } from '../lib/time.ts';
import type { ObjectStore } from '../storage/object-store.ts';
import { claimReplica } from './claim-replica.ts';
import { readLocalReplica } from './read-local-replica.ts';
import { refuseOtherHistory } from './refuse-other-history.ts';
import type { ReplicaCommit } from './replica-commit.ts';
import { canContinue, planClaim } from './replication-state.ts';
import { restoreNewestSound } from './restore-newest-sound.ts';

interface TakeOverOptions {
  store: ObjectStore;
  workgroupId: string;
  warehousePath: string;
  /** The folder of the workgroup's local lake. */
  root: string;
  /**
   * True if the local lake has generations. Readers of a new replica then wait for the first copy. Default:
   * false.
   */
  hasPublished?: boolean;
  /** Claims of this process. Default: none. */
  claims?: UnusedClaims;
  /**
   * The claim fails after this time, so that another worker can try it. The restore can take longer. Default:
   * `CLAIM_WITHIN_MS`.
   */
  claimWithinMs?: number;
  /** Files of `prepareTakeOver`, which shorten the restore. They need not exist. Default: none. */
  prepared?: PreparedRestore;
  clock: Clock;
  signal?: AbortSignal;
}

const CLAIM_WITHIN_MS = 15 * SECOND_MS;

/**
 * The newest claim of each workgroup that this process has not opened since. The next attempt uses it again,
 * so failing attempts do not fill the replica with claims. `isRestored`: the warehouse of the claim is on
 * this disk.
 */
export type UnusedClaims = Map<string, { nonce: string; isRestored: boolean }>;

export interface TakenOver {
  /** The caller opens the warehouse with this epoch, and then `openReplicaOwner`. */
  claim: ReplicaCommit;
  /**
   * `local`: the local warehouse continues. `restored`: it comes from the replica. `new`: neither has one.
   */
  warehouse: 'local' | 'restored' | 'new';
  /** The place of local data that was moved away, because another worker has continued without it. */
  movedAway: string[];
  /** Set if the local data is damaged or incomplete, and was not used. */
  localFault?: string;
  /** If the newest commit is damaged: the earlier commit that was restored. */
  rolledBack?: { to: number; reason: string };
}

/**
 * Claims a workgroup, and restores its warehouse if the local one does not belong to the newest commit, or if
 * local data is damaged. The files of its lake are left to `startLakeFill`, so the time does not depend on
 * the size of the lake. If the snapshot is damaged, an earlier commit becomes the newest. Local data is moved
 * away, not deleted. If it fails after the claim, the same call uses the claim again, unless another worker
 * has claimed meanwhile.
 * @throws TransientError `StorageBusy` if the store does not answer in time
 * @throws TransientError `WarehouseLocked` if a process has the local warehouse open; then nothing was
 *   claimed
 * @throws TerminalError as `refuseOtherHistory` does; then nothing was claimed. And as `claimReplica` and
 *   `restoreLake` do
 */
export async function takeOverReplica(options: TakeOverOptions): Promise<TakenOver> {
  const { store, workgroupId, warehousePath, root, prepared, clock, claims = new Map(), signal } = options;
  const { state, fault } = await readLocalReplica(warehousePath, root, clock);
  const hasPublished = options.hasPublished === true;
  const note = ({ nonce }: ReplicaCommit, { isRestored }: { isRestored: boolean }) =>
    claims.set(workgroupId, { nonce, isRestored });
  const continues = (head: ReplicaCommit | undefined) =>
    state !== undefined && canContinue(state, head) && !(fault && head?.generation);
  const unused = claims.get(workgroupId);
  const claiming = deadlineOf(store, options.claimWithinMs ?? CLAIM_WITHIN_MS);
  const { commit: claim, previous } = await claimReplica(store, {
    workgroupId,
    hasPublished: state !== undefined && hasPublished,
    epochAbove: state?.ownerEpoch ?? 0n,
    unused: unused?.nonce,
    clock,
    onPlanned: ({ commit, previous }) => {
      // Without a copy in the replica the damaged file is all there is.
      if (fault && !state && !previous?.generation) throw fault;
      refuseOtherHistory(store, previous, { warehousePath, root, state, hasPublished });
      if (continues(previous)) planClaim(warehousePath, state!, commit.nonce);
      // This is noted even if the answer is lost, because the claim can exist.
      if (commit.nonce !== unused?.nonce) note(commit, { isRestored: false });
    },
    signal: signal ? AbortSignal.any([signal, claiming.signal]) : claiming.signal,
  })
    .catch((error: unknown) => {
      throw claiming.signal.aborted ? claiming.signal.reason : error;
    })
    .finally(claiming.stop);
  if (continues(previous)) return { claim, warehouse: 'local', movedAway: [] };
  if (unused?.isRestored && previous?.nonce === unused.nonce && state && !fault) {
    note(claim, { isRestored: true });
    return { claim, warehouse: 'restored', movedAway: [] };
  }
  const restored = await restoreNewestSound(
    store,
    claim,
    (commit) =>
      restoreLake({
        source: store,
        commit,
        warehousePath,
        root,
        force: true,
        hasFiles: false,
        prepared,
        clock,
        signal,
      }),
    signal,
  );
  if (!restored) return { claim, warehouse: 'new', movedAway: [] };
  const { result, rolledBack } = restored;
  note(restored.claim, { isRestored: true });
  return {
    claim: restored.claim,
    warehouse: 'restored',
    movedAway: result.movedAway,
    ...(fault && { localFault: fault.message }),
    ...(rolledBack && { rolledBack }),
  };
}

/** A signal that aborts after a time, with an error that names the store. */
function deadlineOf({ address }: ObjectStore, withinMs: number): { signal: AbortSignal; stop: () => void } {
  const deadline = new AbortController();
  const late = `${address} has not answered within ${withinMs / SECOND_MS} s; check the endpoint and the network`;
  const timer = setTimeout(() => deadline.abort(new TransientError('StorageBusy', late)), withinMs);
  return { signal: deadline.signal, stop: () => clearTimeout(timer) };
}
