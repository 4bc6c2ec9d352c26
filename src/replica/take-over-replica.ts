import { restoreLake } from '../backup/restore-lake.ts';
import type { Clock } from '../lib/time.ts';
import type { ObjectStore } from '../storage/object-store.ts';
import { claimReplica } from './claim-replica.ts';
import type { ReplicaCommit } from './replica-commit.ts';
import { canContinue, planClaim, readReplicationState } from './replication-state.ts';
import { restoreNewestSound } from './restore-newest-sound.ts';

export interface TakeOverOptions {
  store: ObjectStore;
  workgroupId: string;
  warehousePath: string;
  /** The folder of the workgroup's local lake. */
  root: string;
  /** True if the local lake has generations. Readers of a new replica then wait for the first copy. Default: false. */
  hasPublished?: boolean;
  /** The epoch of the lease. The new epoch is higher. */
  epochAbove?: bigint;
  known?: number;
  clock: Clock;
  signal?: AbortSignal;
}

export interface TakenOver {
  /** The caller opens the warehouse with this epoch, and then `openReplicaOwner`. */
  claim: ReplicaCommit;
  /** `local`: the local warehouse continues. `restored`: it comes from the replica. `new`: neither has one. */
  warehouse: 'local' | 'restored' | 'new';
  /** Where local data was moved to that another worker has continued without. */
  movedAway: string[];
  /** If the newest commit is damaged: the earlier commit that was restored. */
  rolledBack?: { to: number; reason: string };
}

/**
 * Claims a workgroup, and restores its warehouse and its lake if the local ones are not those of the newest commit. If that commit is damaged, an
 * earlier one becomes the newest. Local data is moved away and never deleted. If it fails after the claim, the same call claims again.
 * @throws TransientError `WarehouseLocked` if a process has the local warehouse open; then nothing was claimed
 * @throws TerminalError as `claimReplica` and `restoreLake` do
 */
export async function takeOverReplica(options: TakeOverOptions): Promise<TakenOver> {
  const { store, workgroupId, warehousePath, root, clock, known, signal } = options;
  const state = await readReplicationState(warehousePath, clock);
  const epochs = [options.epochAbove ?? 0n, state?.ownerEpoch ?? 0n];
  const { commit: claim, previous } = await claimReplica(store, {
    workgroupId,
    hasPublished: state !== undefined && options.hasPublished === true,
    epochAbove: epochs[0]! > epochs[1]! ? epochs[0]! : epochs[1]!,
    clock,
    onPlanned: ({ commit, previous }) => {
      if (state && canContinue(state, previous)) planClaim(warehousePath, state, commit.nonce);
    },
    ...(known !== undefined && { known }),
    ...(signal && { signal }),
  });
  if (state && canContinue(state, previous)) return { claim, warehouse: 'local', movedAway: [] };
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
        clock,
        ...(signal && { signal }),
      }),
    signal,
  );
  if (!restored) return { claim, warehouse: 'new', movedAway: [] };
  const { result, rolledBack } = restored;
  return {
    claim: restored.claim,
    warehouse: 'restored',
    movedAway: result.movedAway,
    ...(rolledBack && { rolledBack }),
  };
}
