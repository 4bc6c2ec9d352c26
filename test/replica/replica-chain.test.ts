import { expect, test } from 'vitest';
import { StaleOwnerError, TerminalError } from '../../src/lib/errors.ts';
import { DAY_MS } from '../../src/lib/time.ts';
import { newNonce } from '../../src/publish/lake-layout.ts';
import { createReplicaChain } from '../../src/replica/replica-chain.ts';
import type { ReplicaCommit } from '../../src/replica/replica-commit.ts';
import { createFolderStore } from '../../src/storage/folder-store.ts';
import type { ObjectStore } from '../../src/storage/object-store.ts';
import { tempDir } from '../support/temp-dir.ts';
import { createTestClock } from '../support/test-clock.ts';

const claim: ReplicaCommit = {
  format: 2,
  workgroupId: 'home',
  sequence: 1,
  nonce: newNonce(),
  previousNonce: null,
  generation: null,
  createdAtMs: 0,
  ownerEpoch: '1',
  warehouseCreatedAtMs: 0,
  batchId: '0',
  rolledUpBatchId: '0',
  checkpoints: [],
  totals: { messages: 0, dailyEnergyWh: 0 },
  files: [],
};

/** The chain of an owner after its claim, in a folder. `lose` loses the answers to its next commits. */
function setUp(folder = createFolderStore(tempDir())) {
  const clock = createTestClock();
  const state = { lose: 0, keysCreated: 0, lists: 0, isFull: false };
  const done: string[] = [];
  const store: ObjectStore = {
    ...folder,
    list(prefix, options) {
      state.lists++;
      return folder.list(prefix, options);
    },
    async createKey(key, bytes, signal) {
      const outcome = await folder.createKey(key, bytes, signal);
      state.keysCreated++;
      if (state.lose-- > 0) throw new TerminalError('AnswerLost', 'the answer was lost');
      return outcome;
    },
  };
  const chain = createReplicaChain({
    store,
    claim,
    async record(what, { sequence }) {
      if (state.isFull) throw new TerminalError('DiskFull', 'the disk is full');
      done.push(`${what} ${sequence}`);
    },
    onAdded: ({ sequence }) => void done.push(`added ${sequence}`),
    clock,
  });
  const commit = (): ReplicaCommit => ({ ...claim, ...chain.next() });
  /** Adds the next commit. */
  const add = async () => {
    const next = commit();
    await chain.add(next);
    return next;
  };
  return { folder, clock, state, done, chain, commit, add };
}

test('each commit follows the one before, is planned before it is sent, and is stored when it exists', async () => {
  const { chain, add, done } = setUp();
  expect(chain.head()).toBe(claim);
  const second = await add();
  expect([second.sequence, second.previousNonce]).toEqual([2, claim.nonce]);
  expect(chain.head()).toBe(second);
  const third = await add();
  expect([third.sequence, third.previousNonce]).toEqual([3, second.nonce]);
  expect(done).toEqual([2, 3].flatMap((n) => [`replica_planned ${n}`, `replicated ${n}`, `added ${n}`]));
});

test('a commit whose answer was lost is found, once, before another one follows it', async () => {
  const { chain, add, state, done } = setUp();
  state.lose = 1;
  await expect(add()).rejects.toMatchObject({ code: 'AnswerLost' });
  expect(chain.head()).toBe(claim);
  // The later commit is the own one, so a look does not find another owner.
  await chain.look();
  await chain.settle();
  expect([chain.head().sequence, done]).toEqual([2, ['replica_planned 2', 'replicated 2', 'added 2']]);
  const created = state.keysCreated;
  await chain.settle();
  expect(state.keysCreated).toBe(created);
  expect((await add()).sequence).toBe(3);
});

test('an owner whose key is taken has lost the workgroup, and runs nothing more', async () => {
  const { folder, chain, add, done } = setUp();
  await setUp(folder).add();
  await expect(add()).rejects.toBeInstanceOf(StaleOwnerError);
  expect(done).toEqual(['replica_planned 2']);
  let ran = false;
  const later = chain.inTurn(async () => {
    ran = true;
  });
  await expect(later).rejects.toBeInstanceOf(StaleOwnerError);
  expect(ran).toBe(false);
});

test('a look finds the commit of another owner', async () => {
  const { folder, chain } = setUp();
  await chain.look();
  await setUp(folder).add();
  await expect(chain.look()).rejects.toBeInstanceOf(StaleOwnerError);
});

test.each<[how: string, pass: (clock: ReturnType<typeof createTestClock>) => void]>([
  [
    'by the time that has passed',
    (clock) => {
      clock.leap(DAY_MS);
      clock.set(clock.now() - DAY_MS);
    },
  ],
  ['by the clock', (clock) => clock.set(clock.now() + DAY_MS)],
])('after a day without a commit, a free key can have been used and deleted: %s', async (_, pass) => {
  const { folder, clock, chain, add } = setUp();
  const other = setUp(folder);
  await other.add();
  await other.add();
  await folder.remove('commits/000000000002.json');
  pass(clock);
  await expect(add()).rejects.toBeInstanceOf(StaleOwnerError);
  expect(chain.head()).toBe(claim);
});

test('before that, a free key costs no further request, and each commit begins the day again', async () => {
  const { clock, add, state } = setUp();
  for (let commits = 0; commits < 3; commits++) {
    clock.leap(DAY_MS - 1);
    await add();
  }
  expect(state.lists).toBe(0);
  clock.leap(DAY_MS);
  expect((await add()).sequence).toBe(5);
  expect(state.lists).toBe(1);
});

test('a commit that could not be planned is not sent', async () => {
  const { chain, add, state } = setUp();
  state.isFull = true;
  await expect(add()).rejects.toMatchObject({ code: 'DiskFull' });
  state.isFull = false;
  await chain.settle();
  expect([state.keysCreated, chain.head()]).toEqual([0, claim]);
  expect((await add()).sequence).toBe(2);
});
