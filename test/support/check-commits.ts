import { expect } from 'vitest';
import {
  listReplicaCommits,
  type ReplicaCommit,
  readReplicaCommit,
} from '../../src/replica/replica-commit.ts';
import type { ObjectStore } from '../../src/storage/object-store.ts';

/**
 * Checks all commits of a workgroup: each follows the one before. A higher epoch begins with a claim, which
 * has the content of the commit before. So no two owners have the same epoch.
 * @returns the number of commits and claims
 */
export async function checkCommits(store: ObjectStore): Promise<{ commits: number; claims: number }> {
  let before: ReplicaCommit | undefined;
  let claims = 0;
  for await (const { sequence } of listReplicaCommits(store, 0)) {
    const commit = (await readReplicaCommit(store, sequence))!;
    expect(commit.sequence).toBe((before?.sequence ?? 0) + 1);
    expect(commit.previousNonce).toBe(before?.nonce ?? null);
    const epoch = BigInt(commit.ownerEpoch);
    const epochBefore = BigInt(before?.ownerEpoch ?? 0);
    expect(epoch).toBeGreaterThanOrEqual(epochBefore);
    if (epoch > epochBefore) {
      claims++;
      expect(commit.generation).toEqual(before?.generation ?? null);
      expect(commit.totals).toEqual(before?.totals ?? commit.totals);
      expect(commit.files).toEqual(before?.files ?? []);
    } else {
      expect(commit.generation).not.toEqual(before!.generation);
      expect(commit.totals.messages).toBeGreaterThanOrEqual(before!.totals.messages);
    }
    before = commit;
  }
  return { commits: before?.sequence ?? 0, claims };
}
