import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { RestorableCommit } from '../../src/backup/stored-commits.ts';
import { TerminalError, TransientError } from '../../src/lib/errors.ts';
import { commitText } from '../../src/publish/lake-commit.ts';
import { commitKey } from '../../src/publish/lake-layout.ts';
import { type ReplicaCommit, readReplicaCommit } from '../../src/replica/replica-commit.ts';
import { restoreNewestSound } from '../../src/replica/restore-newest-sound.ts';
import { createFolderStore } from '../../src/storage/folder-store.ts';
import { tempDir } from '../support/temp-dir.ts';
import { commitOf, fileKeyOf, packKey } from './plain-commit.ts';

const damage = (code: string) => new TerminalError(code, `the ${code}`);

/** A store with these commits and their objects, and a restore that fails for some sequences. */
async function setUp(
  commits: readonly ReplicaCommit[],
  failures: Record<number, Error> = {},
  claim = commits.at(-1)!,
) {
  const store = createFolderStore(join(tempDir(), 'store'));
  const put = (key: string, text = 'x') => store.put(key, { bytes: Buffer.from(text) });
  for (const commit of commits) {
    await put(commitKey(commit.sequence), commitText(commit));
    for (const { key } of commit.generation?.packs ?? []) await put(key);
    for (const { name } of commit.files) await put(`files/messages/${name}`);
  }
  const tried: number[] = [];
  const restored = () =>
    restoreNewestSound(store, claim, async ({ sequence }: RestorableCommit) => {
      tried.push(sequence);
      const failure = failures[sequence];
      if (failure) throw failure;
      return `content ${sequence}`;
    });
  return { store, tried, restored };
}

/** A claim has the content of the commit before. */
const claimOf = (sequence: number, { files, generation, snapshot }: ReplicaCommit): ReplicaCommit => ({
  ...commitOf(sequence, 1),
  ownerEpoch: '7',
  files,
  generation,
  ...(snapshot && { snapshot }),
});
const three = [commitOf(1, 1), commitOf(2, 2), commitOf(3, 3)];

test('undamaged content is restored, and the claim stays', async () => {
  const commits = [...three, claimOf(4, three[2]!)];
  const { restored, tried } = await setUp(commits);
  expect(await restored()).toEqual({ claim: commits[3], result: 'content 3', rolledBack: undefined });
  expect(tried).toEqual([3]);
});

test('a replica without a generation has nothing to restore', async () => {
  const { restored } = await setUp([{ ...commitOf(1, 1), generation: null }]);
  expect(await restored()).toBeUndefined();
});

test('damaged content is replaced by the newest undamaged content before it, as a new commit', async () => {
  const claim = claimOf(4, three[2]!);
  const { store, restored, tried } = await setUp([...three, claim], { 3: damage('ObjectDamaged') });
  const outcome = await restored();
  expect(outcome).toMatchObject({
    result: 'content 2',
    rolledBack: { to: 2, reason: 'the ObjectDamaged' },
    claim: {
      sequence: 5,
      ownerEpoch: '8',
      previousNonce: claim.nonce,
      files: three[1]!.files,
      generation: three[1]!.generation,
    },
  });
  expect(await readReplicaCommit(store, 5)).toEqual(outcome!.claim);
  // The claim and commit 3 have the same content, and two reads must find the damage.
  expect(tried).toEqual([3, 3, 2]);
});

test('commits after the claim are of another worker, and are not used', async () => {
  const commits = [...three, commitOf(4, 4)];
  const { restored, tried } = await setUp(commits, { 3: damage('ObjectDamaged') }, three[2]);
  await expect(restored()).rejects.toMatchObject({ code: 'StaleOwner' });
  expect(tried).toEqual([3, 3, 2]);
});

test('a commit that is damaged, or lacks objects, is passed over', async () => {
  const { store, restored, tried } = await setUp(
    [commitOf(1, 1), commitOf(2, 2), commitOf(3, 3), commitOf(4, 4), commitOf(5, 5)],
    { 5: damage('ObjectMissing'), 4: damage('SnapshotForeign') },
  );
  writeFileSync(join(store.address, commitKey(3)), 'damaged');
  await store.remove(fileKeyOf(2));
  expect(await restored()).toMatchObject({ result: 'content 1', rolledBack: { to: 1 } });
  expect(tried).toEqual([5, 5, 4, 4, 1]);
});

test('if all content is damaged, the damage of the newest is thrown, and nothing has changed', async () => {
  const { store, restored } = await setUp(three, {
    3: damage('ObjectDamaged'),
    2: damage('ObjectMissing'),
  });
  await store.remove(packKey(1));
  await expect(restored()).rejects.toMatchObject({ code: 'ObjectDamaged' });
  expect(await readReplicaCommit(store, 4)).toBeUndefined();
});

test.each(['WarehouseCorrupt', 'NotAWarehouse'])(
  'a warehouse that is damaged although its objects are not is no reason to go back: %s',
  async (code) => {
    const { store, restored, tried } = await setUp(three, { 3: damage(code) });
    await expect(restored()).rejects.toMatchObject({ code: 'RestoredDamaged' });
    expect(tried).toEqual([3, 3]);
    expect(await readReplicaCommit(store, 4)).toBeUndefined();
  },
);

test('every other error is thrown at once', async () => {
  const away = new TransientError('StorageUnreachable', 'away');
  const { restored, tried } = await setUp(three, { 3: away });
  await expect(restored()).rejects.toBe(away);
  expect(tried).toEqual([3]);
});
