import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { STATE_FOLDER } from '../../src/backup/backup-state.ts';
import { commitSnapshot } from '../../src/backup/commit-snapshot.ts';
import { restoreLake } from '../../src/backup/restore-lake.ts';
import type { RestorableCommit } from '../../src/backup/stored-commits.ts';
import { verifyLake } from '../../src/backup/verify-lake.ts';
import { workgroupIdSchema } from '../../src/contract/messages.ts';
import { TerminalError } from '../../src/lib/errors.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { systemClock } from '../../src/lib/time.ts';
import { publish } from '../../src/publish/publish.ts';
import { createFolderStore } from '../../src/storage/folder-store.ts';
import type { ObjectStore } from '../../src/storage/object-store.ts';
import { openDatabase } from '../../src/warehouse/database.ts';
import { onConnection } from '../../src/warehouse/recovering-database.ts';
import { openShard } from '../../src/warehouse/shard.ts';
import { landMessages, WORKGROUP } from '../publish/publish-fixture.ts';
import { tempDir } from '../support/temp-dir.ts';
import { TEST_START_MS } from '../support/test-clock.ts';
import { withExtraMigrations } from '../warehouse/extra-migrations.ts';
import { landedOffsets } from '../warehouse/warehouse-fixture.ts';

type Migrations = ReturnType<typeof withExtraMigrations>;

function open(path: string, lakeDir: string, migrations?: Migrations) {
  return openShard({
    path,
    workgroupId: WORKGROUP,
    memoryMegabytes: 256,
    threads: 1,
    folders: [lakeDir],
    ...(migrations && { migrations }),
    clock: systemClock,
    logger: silentLogger,
  });
}

/** A lake with 20 messages and a snapshot, from a program with this schema. */
async function snapshotOf(
  migrations?: Migrations,
): Promise<{ store: ObjectStore; commit: RestorableCommit }> {
  const lakeDir = tempDir();
  const shard = await open(join(tempDir(), 'acme.duckdb'), lakeDir, migrations);
  const options = { lakeDir, clock: systemClock, logger: silentLogger };
  await landMessages(shard, { count: 20, storeTimeMs: TEST_START_MS });
  await publish(shard, options);
  const commit = await commitSnapshot(shard, options);
  await shard.close();
  return { store: createFolderStore(join(lakeDir, WORKGROUP)), commit };
}

function target() {
  const folder = tempDir();
  return { folder, warehousePath: join(folder, 'warehouse/acme.duckdb'), root: join(folder, 'lake/acme') };
}

test('a snapshot from before an upgrade is verified and restored, with the schema of now', {
  tags: ['slow'],
}, async () => {
  const { store, commit } = await snapshotOf();
  const migrations = withExtraMigrations(1);
  const stagingDir = join(tempDir(), 'verify');
  expect(await verifyLake({ store, stagingDir, migrations, clock: systemClock })).toMatchObject({
    snapshots: 1,
    restorable: { sequence: commit.sequence },
    broken: [],
  });
  const to = target();
  await restoreLake({ source: store, commit, ...to, force: false, migrations, clock: systemClock });
  expect(readdirSync(join(to.folder, 'warehouse'))).toEqual(['acme.duckdb']);
  const options = { path: to.warehousePath, memoryMegabytes: 256, threads: 1, readOnly: true };
  const database = await openDatabase({ ...options, clock: systemClock });
  const added = `FROM later_${migrations.length} LIMIT 1`;
  await onConnection(database, (connection) => connection.run(added));
  await database.close();
  const shard = await open(to.warehousePath, join(to.folder, 'lake'), migrations);
  expect(await landedOffsets(shard)).toHaveLength(20);
  await shard.close();
});

test('a snapshot of a newer program is refused, and nothing has changed', { tags: ['slow'] }, async () => {
  const { store, commit } = await snapshotOf(withExtraMigrations(1));
  const to = target();
  await expect(
    restoreLake({ source: store, commit, ...to, force: true, clock: systemClock }),
  ).rejects.toMatchObject({ code: 'WarehouseTooNew' });
  expect(readdirSync(join(to.folder, 'warehouse'))).toEqual([]);
  expect(existsSync(to.root)).toBe(false);
  // The backup is not damaged because of that.
  const verifying = verifyLake({ store, stagingDir: join(tempDir(), 'verify'), clock: systemClock });
  await expect(verifying).rejects.toMatchObject({ code: 'WarehouseTooNew' });
});

/** The store with one answer that `change` has changed: the first one of these objects. */
function withBadAnswer(store: ObjectStore, name: string, change: (bytes: Buffer) => Buffer): ObjectStore {
  let isDone = false;
  return {
    ...store,
    async getRange(key, start, length, signal) {
      const bytes = await store.getRange(key, start, length, signal);
      if (isDone || !key.includes(name) || !bytes) return bytes;
      isDone = true;
      return change(bytes);
    },
    async download(key, path, expected, signal) {
      if (isDone || !key.includes(name)) return store.download(key, path, expected, signal);
      isDone = true;
      throw new TerminalError('ObjectDamaged', `${key}: the answer was cut`);
    },
  };
}

test('an answer that was damaged on the way is not a damaged object', { tags: ['slow'] }, async () => {
  const { store } = await snapshotOf();
  const verify = (from: ObjectStore) =>
    verifyLake({ store: from, stagingDir: join(tempDir(), 'verify'), clock: systemClock });
  const cut = (bytes: Buffer) => bytes.subarray(0, bytes.length >> 1);
  for (const name of ['snapshots/', '.parquet'])
    expect((await verify(withBadAnswer(store, name, cut))).broken, name).toEqual([]);
  const cutAlways = { ...store, getRange: async () => Buffer.alloc(3) };
  expect((await verify(cutAlways)).broken).toMatchObject([{ key: expect.stringContaining('snapshots/') }]);
});

test('a store that refuses is reported as such, and not as damage', { tags: ['slow'] }, async () => {
  const { store } = await snapshotOf();
  const forbidden = new TerminalError('StorageForbidden', 'the key has no permission');
  const refusing = { ...store, download: async () => Promise.reject(forbidden) };
  await expect(
    verifyLake({ store: refusing, stagingDir: join(tempDir(), 'verify'), clock: systemClock }),
  ).rejects.toBe(forbidden);
});

test('no workgroup can have the name of the folder of the state', () => {
  expect(workgroupIdSchema.safeParse(STATE_FOLDER).success).toBe(false);
});
