// @module-tag slow
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { RestorableCommit } from '../../src/backup/stored-commits.ts';
import { type Logger, silentLogger } from '../../src/lib/logger.ts';
import { DAY_MS, HOUR_MS, systemClock } from '../../src/lib/time.ts';
import { createBackgroundCollection } from '../../src/pipeline/collect-in-background.ts';
import { analyticsKey } from '../../src/publish/lake-layout.ts';
import { claimReplica } from '../../src/replica/claim-replica.ts';
import { objectKeys, type ReplicaCommit } from '../../src/replica/replica-commit.ts';
import { createFolderStore } from '../../src/storage/folder-store.ts';
import { WORKGROUP } from '../publish/publish-fixture.ts';
import { isSoak } from '../support/rounds.ts';
import { tempDir } from '../support/temp-dir.ts';
import { createTestClock } from '../support/test-clock.ts';
import { until } from '../support/until.ts';
import { age, keysOf, machine, stores, work } from './replica-fixture.ts';

const folderStore = () => createFolderStore(join(tempDir(), 'store'));
type FolderStore = ReturnType<typeof folderStore>;
const unnamed = { key: 'files/messages/000000000001-0.parquet', content: { bytes: Buffer.from('unnamed') } };

/** A commit whose rows are all in other files than those of an earlier commit. */
function withoutFilesOf(earlier: ReplicaCommit, commit: RestorableCommit): RestorableCommit {
  const before = new Set(earlier.files.map(({ name }) => name));
  return { ...commit, files: commit.files.filter(({ name }) => !before.has(name)) };
}

/** The keys that only the earlier commit names. */
function droppedSince(earlier: ReplicaCommit, later: ReplicaCommit): string[] {
  const dropped = objectKeys(earlier).filter((key) => !objectKeys(later).includes(key));
  expect(dropped).not.toEqual([]);
  return dropped;
}

test('objects that no commit names are deleted after a day', async () => {
  const store = folderStore();
  const a = await work(machine(), store);
  await a.owner.mirror(await a.grow());
  await store.put(unnamed.key, unnamed.content);
  await age(store, DAY_MS - 60_000, 'files/');
  expect(await a.owner.collect()).toEqual({ commits: 0, objects: 0, bytes: 0 });
  await age(store, 120_000, 'files/');
  const named = objectKeys(a.owner.head());
  expect(await a.owner.collect()).toEqual({ commits: 0, objects: 1, bytes: 7 });
  expect(await keysOf(store, 'files/')).toEqual(named.filter((key) => key.startsWith('files/')).sort());
});

test('a commit is complete for a day after it was the newest one, and its key stays for a week', async () => {
  const store = folderStore();
  const a = await work(machine(), store);
  await a.owner.mirror(await a.grow());
  const first = a.owner.head();
  await age(store, DAY_MS - HOUR_MS);
  await a.owner.mirror(withoutFilesOf(first, await a.grow()));
  const dropped = droppedSince(first, a.owner.head());
  expect(await a.owner.collect()).toMatchObject({ objects: 0, commits: 0 });
  await age(store, DAY_MS + HOUR_MS);
  await a.owner.mirror(withoutFilesOf(first, await a.grow()));
  expect(await a.owner.collect()).toMatchObject({ objects: dropped.length, commits: 0 });
  const left = await keysOf(store);
  for (const key of objectKeys(a.owner.head())) expect(left).toContain(key);
  await age(store, 7 * DAY_MS, 'commits/000000000001');
  expect(await a.owner.collect()).toMatchObject({ objects: 0, commits: 1 });
  expect((await keysOf(store, 'commits/')).length).toBe(3);
});

test('a commit that was the newest one a moment ago stays complete, even if it is old', async () => {
  const store = folderStore();
  const a = await work(machine(), store);
  await a.owner.mirror(await a.grow());
  const first = a.owner.head();
  await age(store, DAY_MS + HOUR_MS);
  await a.owner.mirror(withoutFilesOf(first, await a.grow()));
  const dropped = droppedSince(first, a.owner.head());
  await a.owner.collect();
  expect(await keysOf(store)).toEqual(expect.arrayContaining(dropped));
});

test('a new owner reads the commits of the owners before it, and keeps what they name', async () => {
  const store = folderStore();
  const a = await work(machine(), store);
  await a.owner.mirror(await a.grow());
  const first = a.owner.head();
  await a.owner.mirror(withoutFilesOf(first, await a.grow()));
  const dropped = droppedSince(first, a.owner.head());
  await age(store, 2 * HOUR_MS);
  const b = await work(machine(), store);
  expect(await b.owner.collect({ unnamedMs: HOUR_MS })).toMatchObject({ objects: 0 });
  expect(await keysOf(store)).toEqual(expect.arrayContaining(dropped));
});

test('an owner that was replaced deletes nothing, and neither does one without a generation', async () => {
  const store = folderStore();
  const a = await work(machine(), store);
  await store.put(unnamed.key, unnamed.content);
  await age(store, 2 * DAY_MS, 'files/');
  expect(await a.owner.collect()).toMatchObject({ objects: 0 });
  await a.owner.mirror(await a.grow());
  await claimReplica(store, { workgroupId: WORKGROUP, clock: systemClock });
  await expect(a.owner.collect()).rejects.toMatchObject({ code: 'StaleOwner' });
  expect(await keysOf(store)).toContain(unnamed.key);
});

test('an owner that is replaced while it collects deletes nothing of the later owner', async () => {
  const store = folderStore();
  let meanwhile = async () => {};
  const watched: FolderStore = {
    ...store,
    async *list(prefix, options) {
      if (prefix === 'files/') await meanwhile();
      yield* store.list(prefix, options);
    },
  };
  const a = await work(machine(), watched);
  await a.owner.mirror(await a.grow());
  meanwhile = async () => {
    await claimReplica(store, { workgroupId: WORKGROUP, clock: systemClock });
    await store.put(unnamed.key, unnamed.content);
  };
  expect(await a.owner.collect({ unnamedMs: 0 })).toMatchObject({ objects: 0 });
  expect(await keysOf(store)).toContain(unnamed.key);
});

test('a collection is due an hour after the last one of any owner, or if the clock was set back', async () => {
  const store = folderStore();
  const clock = createTestClock();
  const a = await work(machine(), store, clock);
  const due = [a.owner.isCollectionDue()];
  clock.leap(HOUR_MS);
  due.push(a.owner.isCollectionDue());
  await expect(a.owner.collect({ signal: AbortSignal.abort() })).rejects.toThrow();
  due.push(a.owner.isCollectionDue());
  await a.owner.collect();
  due.push(a.owner.isCollectionDue());
  expect(due).toEqual([false, true, true, false]);
  await a.owner.mirror(await a.grow());
  clock.leap(HOUR_MS - 1);
  const b = await work(machine(), store, clock);
  const dueLater = [b.owner.isCollectionDue()];
  for (const ms of [1, -HOUR_MS - 1]) {
    clock.leap(ms);
    dueLater.push(b.owner.isCollectionDue());
  }
  expect(dueLater).toEqual([false, true, true]);
});

test('a collection that fails is logged, and the next commit does not fail with it', async () => {
  const store = folderStore();
  const failing: FolderStore = {
    ...store,
    list: (prefix, options) => {
      if (prefix === 'files/') throw new Error('the list was refused');
      return store.list(prefix, options);
    },
  };
  const clock = createTestClock();
  const { owner, grow } = await work(machine(), failing, clock);
  await owner.mirror(await grow());
  clock.leap(HOUR_MS);
  const logged: unknown[] = [];
  const warn = (fields: object, event: string) => void logged.push({ ...fields, event });
  const collection = createBackgroundCollection({
    owner,
    workgroupId: WORKGROUP,
    onLost: (error) => logged.push(error),
    logger: { ...silentLogger, warn } as Logger,
  });
  collection.startIfDue();
  await until('it is logged', () => logged.length > 0);
  expect(logged).toEqual([
    { workgroup: WORKGROUP, error: 'the list was refused', event: 'bucket.not-collected' },
  ]);
  await collection.interrupt();
  expect(await owner.mirror(await grow())).toMatchObject({ kind: 'mirrored' });
});

test('what was uploaded for a commit that failed is uploaded again after it was deleted', async () => {
  const store = folderStore();
  const on = machine();
  const a = await work(on, store);
  await a.owner.mirror(await a.grow());
  const next = await a.grow();
  // A large file is not bundled, so the others are uploaded before it fails.
  const missing = { ...next.files[0]!, name: '000000000009-0.parquet', bytes: 5_000_000 };
  await expect(a.owner.mirror({ ...next, files: [...next.files, missing] })).rejects.toMatchObject({
    code: 'LakeChanged',
  });
  for (const prefix of ['files/', 'bundles/', 'snapshots/']) await age(store, 2 * DAY_MS, prefix);
  expect((await a.owner.collect()).objects).toBeGreaterThan(0);
  await a.owner.mirror(next);
  const left = await keysOf(store);
  for (const key of objectKeys(a.owner.head())) expect(left).toContain(key);
});

test.runIf(isSoak)(
  'views stay for as long as the files of their commit, and the newest ones always',
  async () => {
    const store = folderStore();
    const a = await work(machine(), store);
    for (const sequence of [2, 3, 4]) {
      await a.owner.mirror(await a.grow());
      await store.put(analyticsKey(sequence), { bytes: Buffer.from('views') });
    }
    for (let more = 0; more < 2; more++) await a.owner.mirror(await a.grow());
    await age(store, 25 * HOUR_MS, 'commits/000000000003');
    await age(store, 23 * HOUR_MS, 'commits/000000000004');
    await age(store, 25 * HOUR_MS, 'commits/000000000005');
    expect(await a.owner.collect()).toMatchObject({ objects: 1, bytes: 5 });
    expect(await keysOf(store, 'analytics/')).toEqual([3, 4].map(analyticsKey));
  },
);

describe.each(stores)('collecting in a $kind', ({ open }) => {
  test('deletes what is unnamed and keeps what a restore needs', async () => {
    const store = await open();
    const a = await work(machine(), store);
    await store.put(unnamed.key, unnamed.content);
    await a.owner.mirror(await a.grow());
    const content = await a.content();
    expect(await a.owner.collect({ unnamedMs: -60_000 })).toMatchObject({ objects: 1, bytes: 7 });
    expect(await (await work(machine(), store)).content()).toEqual(content);
  });
});
