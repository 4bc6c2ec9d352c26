import { cpSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../src/lib/time.ts';
import { commitKey, fileKey } from '../../src/publish/lake-layout.ts';
import { type ReplicaCommit, readReplicaCommit, readReplicaHead } from '../../src/replica/replica-commit.ts';
import { findReplicaCommit, restoreReplica } from '../../src/replica/restore-replica.ts';
import { takeOverReplica } from '../../src/replica/take-over-replica.ts';
import { createFolderStore } from '../../src/storage/folder-store.ts';
import type { ObjectStore } from '../../src/storage/object-store.ts';
import { WORKGROUP } from '../publish/publish-fixture.ts';
import { isSoak } from '../support/rounds.ts';
import { tempDir } from '../support/temp-dir.ts';
import { machine, sharedMirrored, stores, takeOver, type Working, work } from './replica-fixture.ts';

const openFolder = () => createFolderStore(join(tempDir(), 'store'));
const at = (sequence: number) => ({ kind: 'sequence', sequence }) as const;
/** Three generations, as commits 2 to 4. */
const mirrored = sharedMirrored(3);

/** Mirrors three generations, as commits 2 to 4. @returns the messages of each */
async function threeGenerations({ owner, grow, content }: Working): Promise<unknown[]> {
  const contents: unknown[] = [];
  for (let round = 0; round < 3; round++) {
    await owner.mirror(await grow());
    contents.push(await content());
  }
  return contents;
}

async function commitOf(store: ObjectStore, sequence: number): Promise<ReplicaCommit> {
  return (await readReplicaCommit(store, sequence))!;
}

async function modifiedAtMs(store: ObjectStore, wanted: string): Promise<number> {
  for await (const { key, modifiedAtMs } of store.list('commits/')) if (key === wanted) return modifiedAtMs;
  throw new Error(`${wanted} is not in the store`);
}

/** The pack that only this commit has: its newest one. */
async function flipPackOf(store: ObjectStore, sequence: number): Promise<void> {
  const path = join(store.address, (await commitOf(store, sequence)).snapshot!.pack);
  const bytes = readFileSync(path);
  bytes[100]! ^= 1;
  writeFileSync(path, bytes);
}

describe.each(stores)('a replica in a $kind', ({ open }) => {
  test('an earlier commit becomes the newest one, and the running owner stops', {
    tags: ['slow'],
  }, async () => {
    const store = await open();
    const own = machine();
    const a = await work(own, store);
    const [, second] = await threeGenerations(a);
    const content = await findReplicaCommit(store, at(3));
    expect(await restoreReplica(store, content)).toMatchObject({
      isNew: true,
      commit: { sequence: 5, ownerEpoch: '2', files: content.files },
    });
    // The same again changes nothing.
    expect(await restoreReplica(store, content)).toMatchObject({ isNew: false, commit: { sequence: 5 } });
    await expect(a.owner.mirror(await a.grow())).rejects.toMatchObject({ code: 'StaleOwner' });
    await a.shard.close();

    // The machine with later data does not continue with it.
    const again = await work(own, store);
    expect(again.taken).toMatchObject({ warehouse: 'restored', claim: { sequence: 6, ownerEpoch: '3' } });
    for (const path of again.taken.movedAway) expect(existsSync(path)).toBe(true);
    expect(again.taken.movedAway.length).toBeGreaterThan(0);
    expect(await again.content()).toEqual(second);
    expect(await again.owner.mirror(await again.grow())).toMatchObject({ kind: 'mirrored', sequence: 7 });
  });
});

test('a commit is found by its time at the store, and a claim has the content of the commit before', {
  tags: ['slow'],
}, async () => {
  const store = openFolder();
  const a = await work(machine(), store);
  await expect(findReplicaCommit(store, at(9))).rejects.toMatchObject({ code: 'NothingToRestore' });
  await a.owner.mirror(await a.grow());
  const first = await modifiedAtMs(store, commitKey(2));
  await a.owner.mirror(await a.grow());
  const found = await findReplicaCommit(store, { kind: 'time', ms: first });
  expect(found.sequence).toBe(2);
  await expect(findReplicaCommit(store, { kind: 'time', ms: 1 })).rejects.toMatchObject({
    code: 'NothingToRestore',
    message: expect.stringMatching(
      / its commits are 1 to 3, but neither the one that you asked for nor an earlier one has data$/,
    ),
  });
  await a.shard.close();
  await takeOver(machine(), store);
  const { generation } = await commitOf(store, 3);
  expect(await findReplicaCommit(store, at(4))).toMatchObject({ sequence: 4, generation });
});

test('a commit with deleted files is refused, and the newest one stays', async () => {
  const { store } = mirrored();
  const content = await commitOf(store, 2);
  await store.remove(content.snapshot!.pack);
  await expect(restoreReplica(store, content)).rejects.toMatchObject({
    code: 'ObjectMissing',
    message: expect.stringContaining('choose a later commit'),
  });
  expect(await readReplicaHead(store)).toEqual(await commitOf(store, 4));
});

test('if files are deleted while the commit is created, the earlier content comes back', async () => {
  const { store } = mirrored();
  const content = await commitOf(store, 2);
  const deleting: ObjectStore = {
    ...store,
    async createKey(key, bytes) {
      await store.remove(content.snapshot!.pack);
      return store.createKey(key, bytes);
    },
  };
  await expect(restoreReplica(deleting, content)).rejects.toMatchObject({ code: 'ObjectMissing' });
  const { generation } = await commitOf(store, 4);
  expect(await readReplicaHead(store)).toMatchObject({ sequence: 6, generation });
});

test.runIf(isSoak)('an owner that is faster delays a restore only', async () => {
  const store = openFolder();
  const a = await work(machine(), store);
  await threeGenerations(a);
  const content = await commitOf(store, 2);
  const generation = await a.grow();
  let isFirst = true;
  const slow: ObjectStore = {
    ...store,
    async createKey(key, bytes) {
      if (isFirst) await a.owner.mirror(generation);
      isFirst = false;
      return store.createKey(key, bytes);
    },
  };
  expect(await restoreReplica(slow, content)).toMatchObject({ isNew: true, commit: { sequence: 6 } });
  await expect(a.owner.mirror(await a.grow())).rejects.toMatchObject({ code: 'StaleOwner' });
});

test('a takeover restores the newest commit with undamaged packs, and it becomes the newest', {
  tags: ['slow'],
}, async () => {
  const {
    store,
    contents: [first],
  } = mirrored();
  await flipPackOf(store, 4);
  await flipPackOf(store, 3);
  const b = await work(machine(), store);
  expect(b.taken).toMatchObject({
    warehouse: 'restored',
    rolledBack: { to: 2, reason: expect.stringContaining('is damaged') },
    claim: { sequence: 6, ownerEpoch: '3', files: (await commitOf(store, 2)).files },
  });
  expect(await b.content()).toEqual(first);
  expect(await b.owner.mirror(await b.grow())).toMatchObject({ kind: 'mirrored', sequence: 7 });
  const content = await b.content();
  await b.shard.close();
  const c = await work(machine(), store);
  expect(c.taken.rolledBack).toBeUndefined();
  expect(await c.content()).toEqual(content);
});

test('a takeover does not go back to a commit with deleted files', async () => {
  const { store } = mirrored();
  await flipPackOf(store, 4);
  const { files, bundles } = await commitOf(store, 3);
  rmSync(join(store.address, bundles?.[0]?.key ?? fileKey(files[0]!)));
  await expect(takeOver(machine(), store)).rejects.toMatchObject({ code: 'ObjectDamaged' });
  expect(await readReplicaHead(store)).toMatchObject({
    sequence: 5,
    files: (await commitOf(store, 4)).files,
  });
});

test('a restored warehouse that is damaged on this machine rolls nothing back', async () => {
  const { store } = mirrored();
  const { warehousePath, root } = machine();
  const draft = `${warehousePath}.restored`;
  // The disk damages the draft as soon as it exists.
  const disk = setInterval(() => existsSync(draft) && writeFileSync(draft, Buffer.alloc(12_288, 7)), 1);
  onTestFinished(() => clearInterval(disk));
  const options = { store, workgroupId: WORKGROUP, warehousePath, root, clock: systemClock };
  await expect(takeOverReplica(options)).rejects.toMatchObject({ code: 'RestoredDamaged' });
  expect(await readReplicaHead(store)).toMatchObject({
    sequence: 5,
    generation: (await commitOf(store, 4)).generation,
  });
});

test.runIf(isSoak)(
  'a backup of an installation that was started often is continued from a new bucket',
  async () => {
    const old = machine();
    const before = openFolder();
    for (let starts = 0; starts < 3; starts++) await takeOver(old, before);
    const a = await work(old, before);
    await a.owner.mirror(await a.grow());
    const content = await a.content();
    await a.shard.close();
    const store = createFolderStore(join(tempDir(), 'new'));
    cpSync(before.address, store.address, { recursive: true });
    rmSync(join(store.address, 'commits'), { recursive: true });
    await restoreReplica(store, (await readReplicaHead(before))!);
    const b = await work(machine(), store);
    expect(await b.content()).toEqual(content);
  },
);

test('without a sound commit a takeover fails, and the local data stays', { tags: ['slow'] }, async () => {
  const store = openFolder();
  const a = await work(machine(), store);
  await a.owner.mirror(await a.grow());
  const own = machine();
  const b = await work(own, store);
  await a.shard.close();
  await b.shard.close();
  await takeOver(machine(), store);
  await flipPackOf(store, 2);
  await expect(takeOver(own, store)).rejects.toMatchObject({ code: 'ObjectDamaged' });
  expect(existsSync(own.warehousePath)).toBe(true);
  expect(existsSync(own.root)).toBe(true);
});

test('an answer that was cut once rolls nothing back', async () => {
  const { store } = mirrored();
  const { warehousePath, root } = machine();
  let isCut = false;
  const cutting: ObjectStore = {
    ...store,
    async getRange(key, start, length) {
      const bytes = await store.getRange(key, start, length);
      if (isCut) return bytes;
      isCut = true;
      return bytes?.subarray(0, 10);
    },
  };
  const options = { store: cutting, workgroupId: WORKGROUP, warehousePath, root, clock: systemClock };
  const taken = await takeOverReplica(options);
  expect(isCut).toBe(true);
  expect(taken).toMatchObject({ warehouse: 'restored', claim: { sequence: 5 } });
  expect(taken.rolledBack).toBeUndefined();
  expect(existsSync(dirname(warehousePath))).toBe(true);
});
