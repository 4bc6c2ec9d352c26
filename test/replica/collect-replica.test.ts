import { utimesSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { DAY_MS } from '../../src/lib/time.ts';
import { commitText } from '../../src/publish/lake-commit.ts';
import { analyticsKey, commitKey } from '../../src/publish/lake-layout.ts';
import { createCollector } from '../../src/replica/collect-replica.ts';
import type { ReplicaCommit } from '../../src/replica/replica-commit.ts';
import { createFolderStore } from '../../src/storage/folder-store.ts';
import { tempDir } from '../support/temp-dir.ts';
import { TEST_START_MS } from '../support/test-clock.ts';
import { commitOf, fileKeyOf, packKey } from './plain-commit.ts';
import { keysOf } from './replica-fixture.ts';

/** A store with commits and other objects, each of an age. The newest commit is `head`. */
async function storeWith(commits: Array<[sequence: number, needs: number, ageMs: number]>) {
  const store = createFolderStore(join(tempDir(), 'store'));
  const put = async (key: string, ageMs: number, text = 'x') => {
    await store.put(key, { bytes: Buffer.from(text) });
    const seconds = (TEST_START_MS - ageMs) / 1_000;
    utimesSync(join(store.address, key), seconds, seconds);
  };
  let head!: ReplicaCommit;
  for (const [sequence, needs, ageMs] of commits) {
    head = commitOf(sequence, needs);
    await put(commitKey(sequence), ageMs, commitText(head));
    for (const key of [packKey(needs), fileKeyOf(needs)]) await put(key, 9 * DAY_MS);
  }
  const collect = (own = head) =>
    createCollector(store).collect(own, {
      onLater: ({ sequence }) => {
        throw new Error(`commit ${sequence} is later`);
      },
      onDeleted: () => undefined,
    });
  return { store, put, head, collect };
}

test('a commit is kept whole for a day after the next one was created, to the millisecond', async () => {
  for (const [ageMs, kept] of [
    [DAY_MS, [1, 2, 3]],
    [DAY_MS + 1, [2, 3]],
  ] as const) {
    const { store, collect } = await storeWith([
      [1, 1, 6 * DAY_MS],
      [2, 2, ageMs],
      [3, 3, 0],
    ]);
    const gone = 3 - kept.length;
    expect(await collect()).toEqual({ commits: 0, objects: 2 * gone, bytes: 2 * gone });
    expect(await keysOf(store, 'snapshots/')).toEqual(kept.map(packKey));
    expect(await keysOf(store, 'files/')).toEqual(kept.map(fileKeyOf));
  }
});

test('an object that a kept commit needs stays, even if an older commit needed it first', async () => {
  const { store, collect } = await storeWith([
    [1, 7, 6 * DAY_MS],
    [2, 2, 5 * DAY_MS],
    [3, 7, 0],
  ]);
  expect(await collect()).toMatchObject({ objects: 0 });
  expect(await keysOf(store, 'files/')).toEqual([2, 7].map(fileKeyOf));
});

test('an object stays while any kept commit needs it, in whatever order the commits were learnt', async () => {
  const { store, head } = await storeWith([
    [1, 7, 6 * DAY_MS],
    [2, 2, 5 * DAY_MS],
    [3, 7, 0],
  ]);
  const collector = createCollector(store);
  for (const sequence of [1, 3]) collector.add(commitOf(sequence, 7));
  const callbacks = { onLater: () => expect.unreachable(), onDeleted: () => undefined };
  expect(await collector.collect(head, callbacks)).toMatchObject({ objects: 0 });
});

test('the copies of bundled files stay for the views of their commit', async () => {
  const { store, put, head } = await storeWith([[1, 1, 0]]);
  await put('bundles/000000000001-0.bundle', 9 * DAY_MS);
  const bundle = { key: 'bundles/000000000001-0.bundle', bytes: 1, sha256: '0'.repeat(64) };
  const bundled = { ...head, bundles: [{ ...bundle, places: [{ name: head.files[0]!.name, offset: 0 }] }] };
  const collector = createCollector(store);
  collector.add(bundled);
  const callbacks = { onLater: () => expect.unreachable(), onDeleted: () => undefined };
  expect(await collector.collect(bundled, callbacks)).toMatchObject({ objects: 0 });
  expect(await keysOf(store, 'files/')).toEqual([fileKeyOf(1)]);
});

test('objects that no commit names stay for a day, and keys of commits for a week, to the millisecond', async () => {
  const { store, put, collect } = await storeWith([
    [1, 1, 7 * DAY_MS + 1],
    [2, 1, 7 * DAY_MS],
    [3, 1, 0],
  ]);
  for (const prefix of ['files/messages/', 'bundles/', 'snapshots/']) {
    await put(`${prefix}young`, DAY_MS);
    await put(`${prefix}old`, DAY_MS + 1, 'four');
  }
  expect(await collect()).toEqual({ commits: 1, objects: 3, bytes: 12 });
  expect(await keysOf(store)).toEqual(
    [
      ...['bundles/young', 'files/messages/young', 'snapshots/young'],
      ...[commitKey(2), commitKey(3), fileKeyOf(1), packKey(1)],
    ].sort(),
  );
});

test('views are deleted with the files of their commit, except for the newest ones', async () => {
  const { store, put, collect } = await storeWith([
    [1, 1, 5 * DAY_MS],
    [2, 1, 4 * DAY_MS],
    [3, 1, 3 * DAY_MS],
    [4, 1, 0],
  ]);
  for (const sequence of [1, 2]) await put(analyticsKey(sequence), 0);
  expect(await collect()).toMatchObject({ objects: 1 });
  expect(await keysOf(store, 'analytics/')).toEqual([analyticsKey(2)]);
  for (const sequence of [3, 4]) await put(analyticsKey(sequence), 0);
  await collect();
  expect(await keysOf(store, 'analytics/')).toEqual([3, 4].map(analyticsKey));
});

test('a collector that lives for long deletes what only commits of the past needed', async () => {
  const { store, put, head } = await storeWith([
    [1, 1, 5 * DAY_MS],
    [2, 2, 0],
  ]);
  const collector = createCollector(store);
  const callbacks = { onLater: () => expect.unreachable(), onDeleted: () => undefined };
  // The first commit was the newest one until now.
  expect(await collector.collect(head, callbacks)).toMatchObject({ objects: 0 });
  // Two days later.
  const next = commitOf(3, 2);
  await put(commitKey(3), -2 * DAY_MS, commitText(next));
  collector.add(next);
  const last = commitOf(4, 2);
  await put(commitKey(4), -4 * DAY_MS, commitText(last));
  expect(await collector.collect(last, callbacks)).toMatchObject({ objects: 2 });
  expect(await keysOf(store, 'files/')).toEqual([fileKeyOf(2)]);
});

test('nothing is deleted behind a later commit, without the own commit, or before the first generation', async () => {
  const { store, put, head, collect } = await storeWith([
    [1, 1, 9 * DAY_MS],
    [2, 1, 0],
  ]);
  await put('files/messages/old', 9 * DAY_MS);
  await expect(collect(commitOf(1, 1))).rejects.toThrow('commit 2 is later');
  await expect(collect(commitOf(3, 1))).rejects.toMatchObject({ code: 'ReplicaChanged' });
  const nothing = { commits: 0, objects: 0, bytes: 0 };
  expect(await collect({ ...head, generation: null })).toEqual(nothing);
  expect(await keysOf(store, 'files/')).toContain('files/messages/old');
});
