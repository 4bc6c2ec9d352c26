import { existsSync } from 'node:fs';
import type { Clock } from '../lib/time.ts';
import type { PublishShard } from '../publish/publish-shard.ts';
import { openDatabase } from '../warehouse/database.ts';
import { query } from '../warehouse/query.ts';
import { onConnection } from '../warehouse/recovering-database.ts';
import { warehouseFailure } from '../warehouse/warehouse-failures.ts';
import type { ReplicaCommit } from './replica-commit.ts';

/** What a warehouse knows about its replica. */
export interface ReplicationState {
  /** The owner of the file. */
  ownerEpoch: bigint;
  /** Null if it has no replica yet. */
  replicatedNonce: string | null;
  /** Null if no commit was planned. */
  plannedNonce: string | null;
}

/** Stores a commit in the warehouse: `replica_planned` before it is created, `replicated` after. */
export type RecordReplication = (
  state: 'replica_planned' | 'replicated',
  commit: Pick<ReplicaCommit, 'sequence' | 'nonce'>,
) => Promise<void>;

export function recordIn(shard: Pick<PublishShard, 'transaction'>): RecordReplication {
  return async (state, { sequence, nonce }) => {
    await shard.transaction(
      (connection) => query(connection, 'replica/store_replication', { state, sequence, nonce }),
      { isQuiet: true },
    );
  };
}

/**
 * Reads a warehouse that no process has open. It can have an older schema.
 * @returns undefined if there is no file
 * @throws TransientError `WarehouseLocked` if a process has it open; TerminalError if it is damaged
 */
export async function readReplicationState(
  path: string,
  clock: Clock,
): Promise<ReplicationState | undefined> {
  if (!existsSync(path)) return undefined;
  const database = await openDatabase({ path, memoryMegabytes: 256, threads: 1, readOnly: true, clock });
  try {
    return await onConnection(database, async (connection) => {
      const [row] = await query<{
        owner_epoch: string | null;
        replicated_nonce: string | null;
        planned_nonce: string | null;
      }>(connection, 'replica/find_replication');
      return {
        ownerEpoch: BigInt(row!.owner_epoch ?? 0),
        replicatedNonce: row!.replicated_nonce,
        plannedNonce: row!.planned_nonce,
      };
    });
  } catch (error) {
    throw warehouseFailure(error, path);
  } finally {
    await database.close();
  }
}

/**
 * True if a local warehouse can continue after a commit: the commit is its own last one or its planned one, or the replica has no generation yet.
 *
 * A claim of another worker is enough to refuse it. Otherwise files that this worker has uploaded before, and that no commit names, could be used
 * later, while the other worker deletes them.
 * @param head the newest commit before the own claim
 */
export function canContinue(state: ReplicationState, head: ReplicaCommit | undefined): boolean {
  if (!head?.generation) return true;
  return head.nonce === state.replicatedNonce || head.nonce === state.plannedNonce;
}
