import { join } from 'node:path';
import { expect, test } from 'vitest';
import { backupLake } from '../../src/backup/backup-lake.ts';
import { commitSnapshot } from '../../src/backup/commit-snapshot.ts';
import type { RestorableCommit } from '../../src/backup/stored-commits.ts';
import { verifyLake } from '../../src/backup/verify-lake.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { systemClock } from '../../src/lib/time.ts';
import { commitText } from '../../src/publish/lake-commit.ts';
import { commitKey } from '../../src/publish/lake-layout.ts';
import { createFolderStore } from '../../src/storage/folder-store.ts';
import type { ObjectStore } from '../../src/storage/object-store.ts';
import { landMessages, openFixture } from '../publish/publish-fixture.ts';
import { shared } from '../support/shared.ts';
import { tempDir } from '../support/temp-dir.ts';
import { createTestClock, TEST_START_MS } from '../support/test-clock.ts';

/** A lake with two snapshots. */
const lake = shared(async () => {
  const dataDir = tempDir();
  const { shard, paths, publish } = await openFixture(dataDir, createTestClock());
  const options = { lakeDir: join(dataDir, 'lake'), clock: systemClock, logger: silentLogger };
  await landMessages(shard, { count: 3, storeTimeMs: TEST_START_MS });
  await publish();
  const first = await commitSnapshot(shard, options);
  const second = await commitSnapshot(shard, { ...options, isForced: true });
  await shard.close();
  return { root: paths.root, first, second };
});

const folderStore = () => createFolderStore(join(tempDir(), 'store'));
const backUp = (target: ObjectStore, { sequence }: RestorableCommit) =>
  backupLake({ source: { root: lake().root }, sequence, target, stagingDir: join(tempDir(), 'staging') });
const put = (store: ObjectStore, commit: RestorableCommit) =>
  store.createKey(commitKey(commit.sequence), Buffer.from(commitText(commit)));

test('a backup copies what the place does not have, and a commit that it has is not copied again', async () => {
  const { first, second } = lake();
  const target = folderStore();
  const { objects, bytes, copied, copiedBytes, ...rest } = await backUp(target, first);
  expect(rest).toEqual({
    sequence: first.sequence,
    createdAtMs: first.createdAtMs,
    isUnchanged: false,
  });
  expect([copied, copiedBytes]).toEqual([objects, bytes]);
  expect(await backUp(target, first)).toEqual({
    ...rest,
    objects,
    bytes,
    copied: 0,
    copiedBytes: 0,
    isUnchanged: true,
  });
  const next = await backUp(target, second);
  expect(next).toMatchObject({ sequence: second.sequence, isUnchanged: false });
  expect(next.copied).toBeLessThan(next.objects);
  // The newest of two sound commits is the one to restore.
  const stagingDir = join(tempDir(), 'verify');
  expect(await verifyLake({ store: target, stagingDir, clock: systemClock })).toMatchObject({
    commits: 2,
    snapshots: 2,
    restorable: { sequence: second.sequence, createdAtMs: second.createdAtMs },
    broken: [],
  });
  // An older one comes back after the newest one, as when a lake was restored.
  expect(await backUp(target, first)).toMatchObject({ sequence: second.sequence + 1, copied: 0 });
});

test('a place with the backup of another warehouse or workgroup is refused', async () => {
  const { first: commit } = lake();
  for (const [other, words] of [
    [{ warehouseCreatedAtMs: 1 }, `another warehouse of ${commit.workgroupId}; nothing was copied`],
    [{ workgroupId: 'other' }, 'another warehouse: other; nothing was copied'],
  ] as const) {
    const target = folderStore();
    await put(target, { ...commit, ...other });
    await expect(backUp(target, commit)).rejects.toMatchObject({
      code: 'ForeignBackup',
      message: expect.stringContaining(`${target.address} has the backup of ${words}`),
    });
    expect(await Array.fromAsync(target.list('files/'))).toEqual([]);
  }
});

test('of two backups at the same time the slower one takes the next number, or none for the same commit', async () => {
  const { first: commit } = lake();
  /** A place in which another backup is faster by a moment. */
  const racedBy = (other: Partial<RestorableCommit>): ObjectStore => {
    const store = folderStore();
    let isFirst = true;
    return {
      ...store,
      async createKey(...asked) {
        if (isFirst) await put(store, { ...commit, ...other });
        isFirst = false;
        return store.createKey(...asked);
      },
    };
  };
  expect(await backUp(racedBy({ createdAtMs: 1 }), commit)).toMatchObject({ sequence: commit.sequence });
  expect(await backUp(racedBy({ nonce: 'f'.repeat(commit.nonce.length) }), commit)).toMatchObject({
    sequence: commit.sequence + 1,
  });
  const foreign = { nonce: 'f'.repeat(commit.nonce.length), warehouseCreatedAtMs: 1 };
  await expect(backUp(racedBy(foreign), commit)).rejects.toMatchObject({ code: 'BackupConflict' });
});
