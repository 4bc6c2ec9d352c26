import { findDamage, isDamage } from '../backup/find-damage.ts';
import type { RestorableCommit } from '../backup/stored-commits.ts';
import { TerminalError } from '../lib/errors.ts';
import type { ObjectStore } from '../storage/object-store.ts';
import { generationOf, listReplicaCommits, type ReplicaCommit, readReplicaCommit } from './replica-commit.ts';
import { refuseMissingObjects } from './restore-replica.ts';
import { rollBackReplica } from './roll-back-replica.ts';

interface RestoredReplica<Result> {
  /** The own claim. If an earlier commit was restored, it is a new claim with the content of that commit. */
  claim: ReplicaCommit;
  result: Result;
  /** Why an earlier commit was restored. Undefined if the newest one is undamaged. */
  rolledBack: { to: number; reason: string } | undefined;
}

/**
 * Restores the content of a claim. If it is damaged, restores the newest undamaged commit before it, and adds
 * it to the replica as the newest one. Messages after it are read from the stream again.
 * @param restore restores a generation. It changes nothing if it fails
 * @throws TerminalError `RestoredDamaged` if the objects are undamaged and the restored warehouse is not. An
 *   earlier commit does not help if the disk is faulty
 * @throws the damage of the newest commit if all earlier ones are damaged, too; and every error that is not
 *   damage
 */
export async function restoreNewestSound<Result>(
  store: ObjectStore,
  claim: ReplicaCommit,
  restore: (generation: RestorableCommit) => Promise<Result>,
  signal?: AbortSignal,
): Promise<RestoredReplica<Result> | undefined> {
  const newest = generationOf(claim);
  if (!newest) return undefined;
  let result!: Result;
  const damageOf = (generation: RestorableCommit) =>
    findDamage(async () => {
      result = await restore(generation);
    });
  const damage = await damageOf(newest);
  if (damage && !isOfStore(damage)) throw localDamage(damage, newest, store);
  if (!damage) return { claim, result, rolledBack: undefined };
  const tried = new Set([newest.nonce]);
  for (const sequence of await earlierSequences(store, claim.sequence, signal)) {
    const commit = await readReplicaCommit(store, sequence, signal).catch((error: unknown) => {
      if (isDamage(error)) return undefined;
      throw error;
    });
    const generation = commit && generationOf(commit);
    if (!generation || tried.has(generation.nonce)) continue;
    tried.add(generation.nonce);
    // A restore leaves the files of the lake out. They can be deleted already, because the commit is old.
    if (await findDamage(() => refuseMissingObjects(store, commit, signal))) continue;
    if (await damageOf(generation)) continue;
    const rolledBack = { to: sequence, reason: damage.message };
    return { claim: await rollBackReplica(store, claim, commit, signal), result, rolledBack };
  }
  throw damage;
}

/**
 * False if all objects have the right SHA-256, and the warehouse is damaged. Then this machine can have
 * damaged it.
 */
function isOfStore({ code }: TerminalError): boolean {
  return code !== 'WarehouseCorrupt' && code !== 'NotAWarehouse';
}

function localDamage(damage: TerminalError, { workgroupId }: RestorableCommit, store: ObjectStore) {
  return new TerminalError(
    'RestoredDamaged',
    `the warehouse of ${workgroupId} that was restored from ${store.address} is damaged, although all its objects have the right SHA-256: ${damage.message}. Nothing has changed. Check the disk of this machine, and start the worker on another one. If the same happens there, go back to an earlier commit with "wattline restore --at"`,
    { cause: damage, details: { workgroupId } },
  );
}

/** Descending. */
async function earlierSequences(store: ObjectStore, before: number, signal?: AbortSignal): Promise<number[]> {
  const sequences: number[] = [];
  for await (const { sequence } of listReplicaCommits(store, 0, { signal }))
    if (sequence < before) sequences.push(sequence);
  return sequences.reverse();
}
