import { join } from 'node:path';
import { expect, test } from 'vitest';
import { systemClock } from '../../src/lib/time.ts';
import {
  canContinue,
  planClaim,
  type ReplicationState,
  readReplicationState,
} from '../../src/replica/replication-state.ts';
import { tempDir } from '../support/temp-dir.ts';
import { putEmptyWarehouse } from '../warehouse/empty-warehouse.ts';
import { commitOf } from './plain-commit.ts';

test('claims count for the state of the warehouse that they were sent for, and for no other copy', {
  tags: ['slow'],
}, async () => {
  const path = join(tempDir(), 'acme.duckdb');
  const read = () => readReplicationState(path, systemClock);
  expect(await read()).toBeUndefined();
  await putEmptyWarehouse(path);
  const state = (await read())!;
  expect(state).toMatchObject({
    ownerEpoch: 0n,
    replicatedNonce: null,
    plannedNonce: null,
    claimNonces: [],
  });
  planClaim(path, state, 'first');
  planClaim(path, (await read())!, 'second');
  // A claim that is used again is not noted again.
  planClaim(path, (await read())!, 'first');
  expect((await read())!.claimNonces).toEqual(['first', 'second']);
  for (const other of [{ replicatedNonce: 'x' }, { plannedNonce: 'x' }]) {
    planClaim(path, { ...state, ...other }, 'third');
    expect((await read())!.claimNonces).toEqual([]);
  }
});

test('a warehouse continues after a commit that it has created, planned or claimed, or if there is no generation', () => {
  const state: ReplicationState = {
    ownerEpoch: 1n,
    replicatedNonce: 'replicated',
    plannedNonce: 'planned',
    claimNonces: ['claimed'],
    publication: {} as ReplicationState['publication'],
  };
  const head = commitOf(2, 1);
  const nonces = ['replicated', 'planned', 'claimed', 'other'];
  expect(nonces.map((nonce) => canContinue(state, { ...head, nonce }))).toEqual([true, true, true, false]);
  expect(canContinue(state, undefined)).toBe(true);
  expect(canContinue(state, { ...head, nonce: 'other', generation: null })).toBe(true);
});
