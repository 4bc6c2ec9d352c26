import { existsSync, readFileSync } from 'node:fs';
import { z } from 'zod';
import { replaceFile } from '../lib/durable-files.ts';
import type { Clock } from '../lib/time.ts';
import { type Publication, readPublication } from '../publish/lake-guard.ts';
import type { PublishableShard } from '../publish/publishable-shard.ts';
import { OWNER_LOCK_WAIT_MS, openDatabase } from '../warehouse/database.ts';
import { query } from '../warehouse/query.ts';
import { onConnection } from '../warehouse/recovering-database.ts';
import { warehouseFailure } from '../warehouse/warehouse-failures.ts';
import type { ReplicaCommit } from './replica-commit.ts';

/** The facts of a warehouse about its replica. */
export interface ReplicationState {
  /** The owner of the file. */
  ownerEpoch: bigint;
  /** Null if it has no replica yet. */
  replicatedNonce: string | null;
  /** Null if no commit was planned. */
  plannedNonce: string | null;
  /** Claims for this state of the warehouse that were sent before the warehouse was opened. */
  claimNonces: string[];
  /** Its facts about its lake. */
  publication: Publication;
}

/**
 * A file next to a warehouse. A claim is sent before the warehouse is opened, so the warehouse cannot store
 * it in time.
 */
const plannedClaimsSchema = z.object({
  /**
   * The nonces that the warehouse had. Another copy of the warehouse has others, so the claims are not for
   * it.
   */
  of: z.object({ replicatedNonce: z.string().nullable(), plannedNonce: z.string().nullable() }),
  nonces: z.array(z.string()),
});

/**
 * Stores a claim of a local warehouse that can continue. It must be durable before the claim exists, because
 * a crash can follow.
 */
export function planClaim(path: string, state: ReplicationState, nonce: string): void {
  const { replicatedNonce, plannedNonce, claimNonces } = state;
  if (claimNonces.includes(nonce)) return;
  const planned = { of: { replicatedNonce, plannedNonce }, nonces: [...claimNonces, nonce] };
  replaceFile(claimsPath(path), `${JSON.stringify(planned)}\n`);
}

function readClaimNonces(
  path: string,
  state: Pick<ReplicationState, 'replicatedNonce' | 'plannedNonce'>,
): string[] {
  if (!existsSync(claimsPath(path))) return [];
  const planned = plannedClaimsSchema.parse(JSON.parse(readFileSync(claimsPath(path), 'utf8')));
  const isOurs =
    planned.of.replicatedNonce === state.replicatedNonce && planned.of.plannedNonce === state.plannedNonce;
  return isOurs ? planned.nonces : [];
}

function claimsPath(path: string): string {
  return `${path}.claims.json`;
}

/** Stores a commit in the warehouse: `replica_planned` before it is created, `replicated` after. */
export type RecordReplication = (
  state: 'replica_planned' | 'replicated',
  commit: Pick<ReplicaCommit, 'sequence' | 'nonce'>,
) => Promise<void>;

export function recordIn(shard: Pick<PublishableShard, 'transaction'>): RecordReplication {
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
  const database = await openDatabase({
    path,
    memoryMegabytes: 256,
    threads: 1,
    readOnly: true,
    lockWaitMs: OWNER_LOCK_WAIT_MS,
    clock,
  });
  try {
    return await onConnection(database, async (connection) => {
      const [row] = await query<{
        owner_epoch: string | null;
        replicated_nonce: string | null;
        planned_nonce: string | null;
      }>(connection, 'replica/find_replication');
      const state = {
        ownerEpoch: BigInt(row!.owner_epoch ?? 0),
        replicatedNonce: row!.replicated_nonce,
        plannedNonce: row!.planned_nonce,
        publication: await readPublication(connection),
      };
      return { ...state, claimNonces: readClaimNonces(path, state) };
    });
  } catch (error) {
    throw warehouseFailure(error, path);
  } finally {
    await database.close();
  }
}

/**
 * True if a local warehouse can continue after a commit: the commit is one that it has created or planned, or
 * the replica has no generation yet.
 *
 * A claim of another worker is enough to refuse it. Otherwise files that this worker has uploaded before, and
 * that no commit names, could be used later, while the other worker deletes them.
 * @param head the newest commit before the own claim
 */
export function canContinue(state: ReplicationState, head: ReplicaCommit | undefined): boolean {
  if (!head?.generation) return true;
  return [state.replicatedNonce, state.plannedNonce, ...state.claimNonces].includes(head.nonce);
}
