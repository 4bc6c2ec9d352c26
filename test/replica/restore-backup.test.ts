// @module-tag slow
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { backupLake } from '../../src/backup/backup-lake.ts';
import { DAY_MS, HOUR_MS } from '../../src/lib/time.ts';
import { objectKeys } from '../../src/replica/replica-commit.ts';
import { restoreBackup } from '../../src/replica/restore-backup.ts';
import { createFolderStore } from '../../src/storage/folder-store.ts';
import type { ObjectStore } from '../../src/storage/object-store.ts';
import { isSoak } from '../support/rounds.ts';
import { tempDir } from '../support/temp-dir.ts';
import { age, keysOf, machine, work } from './replica-fixture.ts';

const folderStore = () => createFolderStore(join(tempDir(), 'store'));

/** A backup, the content of its warehouse, and the options to restore it. */
async function backupOf(messages: number) {
  const on = machine();
  const backedUp = await work(on, folderStore());
  const { sequence } = await backedUp.grow(messages);
  const source = folderStore();
  await backupLake({ source: { root: on.root }, sequence, target: source, stagingDir: join(tempDir(), 'a') });
  const options = { source, at: { kind: 'newest' }, force: true, stagingDir: join(tempDir(), 'b') } as const;
  return { content: await backedUp.content(), options };
}

/**
 * A bucket in which the copied objects are as old as if the copy had taken this time, and whose owner then
 * works and collects.
 */
function slowBucket(store: ObjectStore, tookMs: number, collect: () => Promise<unknown>): ObjectStore {
  let puts = 0;
  let isCollected = false;
  return {
    ...store,
    async put(key, content) {
      puts += 1;
      await store.put(key, content);
    },
    // A restore lists the objects after the copy.
    async *list(...asked) {
      if (puts > 0 && !isCollected) {
        isCollected = true;
        for (const prefix of ['files/', 'snapshots/']) await age(store, tookMs, prefix);
        await collect();
      }
      yield* store.list(...asked);
    },
  };
}

test.runIf(isSoak).each([
  { what: 'takes most of a day', tookMs: 23 * HOUR_MS, deleted: 0 },
  { what: 'takes longer, so that the owner deletes what was copied', tookMs: 2 * DAY_MS, deleted: 3 },
])(
  'a restore into a bucket with a running owner that $what is complete, and the owner stops',
  async ({ tookMs, deleted }) => {
    const backup = await backupOf(7);
    const store = folderStore();
    const a = await work(machine(), store);
    await a.owner.mirror(await a.grow());
    const before = a.owner.head().sequence;
    let collected = 0;
    const slow = slowBucket(store, tookMs, async () => {
      await a.owner.mirror(await a.grow());
      ({ objects: collected } = await a.owner.collect());
    });
    const restored = await restoreBackup(slow, backup.options);
    expect(collected).toBeGreaterThanOrEqual(deleted);
    if (deleted === 0) expect(collected).toBe(0);
    // What the owner has committed during the copy can be brought back.
    expect(restored).toMatchObject({ isNew: true, replaced: before + 1 });
    const keys = await keysOf(store);
    expect(keys).toEqual(expect.arrayContaining(objectKeys(restored.commit)));

    // What the owner stores now is not acknowledged, because it is not in the bucket.
    await expect(a.owner.mirror(await a.grow())).rejects.toMatchObject({ code: 'StaleOwner' });
    await expect(a.owner.collect()).rejects.toMatchObject({ code: 'StaleOwner' });
    const next = await work(machine(), store);
    expect(await next.content()).toEqual(backup.content);
  },
);

test('a backup does not replace the data of a bucket without force', async () => {
  const { options } = await backupOf(3);
  const store = folderStore();
  const a = await work(machine(), store);
  await a.owner.mirror(await a.grow());
  const keys = await keysOf(store);
  await expect(restoreBackup(store, { ...options, force: false })).rejects.toMatchObject({
    code: 'DataExists',
  });
  expect(await keysOf(store)).toEqual(keys);
});

test('a copy that loses its objects is made three times, and any other failure ends the restore at once', async () => {
  const { options } = await backupOf(3);
  const store = folderStore();
  const puts = new Map<string, number>();
  const counting: ObjectStore = {
    ...store,
    async put(key, content) {
      puts.set(key, (puts.get(key) ?? 0) + 1);
      await store.put(key, content);
    },
  };
  /** Loses what was copied before the restore looks for it. */
  const losing: ObjectStore = {
    ...counting,
    async *list(...asked) {
      for (const key of puts.keys()) await store.remove(key);
      yield* store.list(...asked);
    },
  };
  await expect(restoreBackup(losing, options)).rejects.toMatchObject({ code: 'ObjectMissing' });
  expect(new Set(puts.values())).toEqual(new Set([3]));

  puts.clear();
  let failures = 0;
  const failing: ObjectStore = {
    ...counting,
    async *list(...asked) {
      if (puts.size > 0) throw new Error(`the bucket is away, ${++failures}`);
      yield* store.list(...asked);
    },
  };
  await expect(restoreBackup(failing, options)).rejects.toThrow('the bucket is away, 1');
});
