import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { refuseOtherHistory } from '../../src/replica/refuse-other-history.ts';
import type { ReplicaCommit } from '../../src/replica/replica-commit.ts';
import { canContinue, type ReplicationState } from '../../src/replica/replication-state.ts';
import { tempDir } from '../support/temp-dir.ts';

/** A warehouse that was never in a bucket. */
const alone = { replicatedNonce: null, plannedNonce: null, claimNonces: [] } as unknown as ReplicationState;
const nonce = 'a'.repeat(32);
const other = 'b'.repeat(32);
const commit = (members: Partial<ReplicaCommit>) =>
  ({ workgroupId: 'home', nonce, generation: null, ...members }) as ReplicaCommit;
const withData = commit({ generation: { sequence: 1, nonce, packs: [] } });

test.each<[about: string, state: ReplicationState, head: ReplicaCommit | undefined, isPossible: boolean]>([
  ['the first commit of a new bucket', alone, undefined, true],
  ['commits without data', alone, commit({ nonce: other }), true],
  ['a commit that it has stored', { ...alone, replicatedNonce: nonce }, withData, true],
  ['a commit that it has planned, whose answer was lost', { ...alone, plannedNonce: nonce }, withData, true],
  ['a claim that it has sent', { ...alone, claimNonces: [other, nonce] }, withData, true],
  ['a commit of another worker', { ...alone, replicatedNonce: other }, withData, false],
  ['data, although it was never in a bucket', alone, withData, false],
])('a warehouse can continue after its own commits only: %s', (_, state, head, isPossible) => {
  expect(canContinue(state, head)).toBe(isPossible);
});

/** What a machine with this warehouse is told. Undefined if it may claim the workgroup. */
function refusal(
  head: ReplicaCommit | undefined,
  local: { state?: ReplicationState; hasPublished?: boolean; isIncomplete?: boolean },
): string | undefined {
  const root = join(tempDir(), 'lake', 'home');
  mkdirSync(root, { recursive: true });
  if (local.isIncomplete) writeFileSync(join(root, 'incomplete'), '');
  const { state, hasPublished = false } = local;
  try {
    refuseOtherHistory({ address: 's3://bucket' }, head, {
      warehousePath: 'home.duckdb',
      root,
      state,
      hasPublished,
    });
    return undefined;
  } catch (error) {
    return (error as { code: string }).code;
  }
}

const published = { state: alone, hasPublished: true };

test.each<
  [about: string, head: ReplicaCommit | undefined, local: Parameters<typeof refusal>[1], code?: string]
>([
  ['nothing, and this machine has data', undefined, published],
  ['a claim without data, and this machine has data', commit({ hasPublished: false }), published],
  ['a claim without data, and this machine has none', commit({ hasPublished: false }), {}],
  ['a claim of this data', commit({ hasPublished: true }), published],
  ['a claim of data that another machine has', commit({ hasPublished: true }), {}, 'FirstCopyMissing'],
  [
    'a claim of data, and this machine has published nothing',
    commit({ hasPublished: true }),
    { state: alone },
    'FirstCopyMissing',
  ],
  [
    'a claim of data, and this machine has a lake without a warehouse',
    commit({ hasPublished: true }),
    { hasPublished: true },
    'FirstCopyMissing',
  ],
  ['data, and this machine has none', withData, {}],
  ['data, and this machine has published nothing', withData, { state: alone }],
  ['data, and this machine has a lake without a warehouse', withData, { hasPublished: true }],
  ['data, and this machine has published other data', withData, published, 'OtherHistory'],
  [
    'data, and the lake of this machine was restored a moment ago',
    withData,
    { ...published, isIncomplete: true },
  ],
  [
    'data, and this machine has been in a bucket',
    withData,
    { ...published, state: { ...alone, replicatedNonce: other } },
  ],
  [
    'data, and this machine has planned a commit',
    withData,
    { ...published, state: { ...alone, plannedNonce: other } },
  ],
  [
    'data, and this machine has sent a claim',
    withData,
    { ...published, state: { ...alone, claimNonces: [other] } },
  ],
])('a bucket that has %s', (_, head, local, code) => {
  expect(refusal(head, local)).toBe(code);
});
