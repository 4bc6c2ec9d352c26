import { findDamage, isDamage } from '../backup/find-damage.ts';
import type { RestorableCommit } from '../backup/stored-commits.ts';
import type { ObjectStore } from '../storage/object-store.ts';
import { generationOf, listReplicaCommits, type ReplicaCommit, readReplicaCommit } from './replica-commit.ts';
import { rollBackReplica } from './roll-back-replica.ts';

export interface RestoredReplica<Result> {
  /** The own claim. If an earlier commit was restored, it is a new claim with the content of that commit. */
  claim: ReplicaCommit;
  result: Result;
  /** Why an earlier commit was restored. Undefined if the newest one is sound. */
  rolledBack: { to: number; reason: string } | undefined;
}

/**
 * Restores the content of a claim. If it is damaged, restores the newest earlier commit that is sound, and adds it to the replica as the newest one.
 * Messages after it are read from the stream again.
 * @param restore restores a generation. It changes nothing if it fails
 * @throws the damage of the newest commit if no earlier one is sound; and every error that is not damage
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
    if (await damageOf(generation)) continue;
    const rolledBack = { to: sequence, reason: damage.message };
    return { claim: await rollBackReplica(store, claim, commit, signal), result, rolledBack };
  }
  throw damage;
}

/** Descending. */
async function earlierSequences(store: ObjectStore, before: number, signal?: AbortSignal): Promise<number[]> {
  const sequences: number[] = [];
  for await (const { sequence } of listReplicaCommits(store, 0, signal))
    if (sequence < before) sequences.push(sequence);
  return sequences.reverse();
}
