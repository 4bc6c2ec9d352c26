// @module-tag slow
import { renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { describe, expect, test } from 'vitest';
import { commitSnapshot } from '../../src/backup/commit-snapshot.ts';
import type { RestorableCommit } from '../../src/backup/stored-commits.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { HOUR_MS, MINUTE_MS } from '../../src/lib/time.ts';
import { INCOMPLETE_FILE } from '../../src/publish/is-lake-complete.ts';
import { fileKey, lakePaths, newNonce } from '../../src/publish/lake-layout.ts';
import { claimReplica } from '../../src/replica/claim-replica.ts';
import type { ReplicaCommit } from '../../src/replica/replica-commit.ts';
import { openReplicaOwner } from '../../src/replica/replica-owner.ts';
import { recordIn } from '../../src/replica/replication-state.ts';
import { createAnalyticsUploader } from '../../src/replica/upload-analytics.ts';
import { createFolderStore } from '../../src/storage/folder-store.ts';
import type { ObjectStore } from '../../src/storage/object-store.ts';
import { rows, WORKGROUP } from '../publish/publish-fixture.ts';
import { days, energies, home } from '../report/balance-home.ts';
import { openBalance } from '../report/balance-support.ts';
import { isSoak } from '../support/rounds.ts';
import { tempDir } from '../support/temp-dir.ts';
import { createTestClock } from '../support/test-clock.ts';
import { keysOf, machine, stores, work } from './replica-fixture.ts';

/** Names, types and comments of all views, and for each view the number of rows and a sum over them. */
async function describeViews(path: string, lake?: string): Promise<unknown> {
  const instance = await DuckDBInstance.create(':memory:');
  try {
    const connection = await instance.connect();
    await connection.run(`ATTACH '${path}' AS wl (READ_ONLY)`);
    if (lake) await connection.run(`SET VARIABLE lake = '${lake}'`);
    const columns = await rows(
      connection,
      `SELECT schema_name, table_name, column_name, data_type, comment FROM duckdb_columns() WHERE database_name = 'wl' ORDER BY ALL`,
    );
    const views = await rows(
      connection,
      `SELECT schema_name, view_name, comment FROM duckdb_views() WHERE database_name = 'wl' AND NOT internal ORDER BY ALL`,
    );
    const sums: unknown[] = [];
    for (const [schema, name] of views)
      sums.push([
        schema,
        name,
        ...(await rows(
          connection,
          `SELECT count(*)::INTEGER, sum(hash(v))::VARCHAR FROM wl.${schema}."${name}" v`,
        )),
      ]);
    return { columns, views, sums };
  } finally {
    instance.closeSync();
  }
}

async function download(
  store: ObjectStore,
  { files, sequence }: ReplicaCommit,
  folder: string,
): Promise<void> {
  for (const file of files)
    expect(await store.download(fileKey(file), join(folder, fileKey(file)), file)).toBe(true);
  const bytes = await store.get(`analytics/${String(sequence).padStart(12, '0')}.duckdb`);
  await createFolderStore(folder).put('analytics.duckdb', { bytes: bytes! });
}

describe.each(stores)('views in a $kind', ({ open }) => {
  test.runIf(isSoak)('show in any folder what the local lake shows', async () => {
    const store = await open();
    const at = await openBalance(home, days, energies);
    const { commit: claim } = await claimReplica(store, { workgroupId: WORKGROUP, clock: at.clock });
    const { shard, lakeDir, clock, paths } = at;
    const record = recordIn(shard);
    const owner = await openReplicaOwner({ store, claim, root: paths.root, record, clock });
    const { unbundle } = owner;
    const upload = createAnalyticsUploader({ store, shard, paths, unbundle, clock, logger: silentLogger });
    // A claim has no files yet.
    await upload(owner.head(), { isFinal: true });
    expect(await keysOf(store, 'analytics/')).toEqual([]);
    await owner.mirror(await commitSnapshot(shard, { lakeDir, clock, logger: silentLogger }));
    expect(owner.head().bundles).toHaveLength(1);
    await upload(owner.head());
    await at.renew();
    const expected = await describeViews(join(paths.current, 'analytics.duckdb'));
    expect(JSON.stringify(expected)).toContain('balance_daily');

    const folder = tempDir();
    await download(store, owner.head(), folder);
    renameSync(paths.files, `${paths.files}-away`);
    const views = join(folder, 'analytics.duckdb');
    expect(await describeViews(views, folder)).toEqual(expected);
    await expect(describeViews(views)).rejects.toThrow('NULL');
    expect(await keysOf(createFolderStore(paths.root), 'staging/')).toEqual([]);
    renameSync(`${paths.files}-away`, paths.files);
  });
});

/** An owner with an uploader, and what it has uploaded. */
async function openUploads() {
  const store = createFolderStore(join(tempDir(), 'store'));
  const on = machine();
  const clock = createTestClock(Date.now());
  const { owner, grow, shard } = await work(on, store, clock);
  const paths = lakePaths(on.lakeDir, WORKGROUP);
  let isDown = false;
  let generation: RestorableCommit | undefined;
  const asked: string[] = [];
  const watched: ObjectStore = {
    ...store,
    async put(key, content, signal) {
      asked.push(key);
      if (isDown) throw new Error('down');
      await store.put(key, content, signal);
    },
  };
  const { unbundle } = owner;
  const create = () =>
    createAnalyticsUploader({ store: watched, shard, paths, unbundle, clock, logger: silentLogger });
  return {
    clock,
    owner,
    paths,
    create,
    async commit() {
      generation = await grow();
      await owner.mirror(generation);
    },
    /** A commit with the same files. */
    commitSame: async () => void (await owner.mirror({ ...generation!, nonce: newNonce() })),
    views: () => keysOf(store, 'analytics/'),
    /** Uploads that were tried since the last call. */
    asked: () => asked.splice(0).length,
    fail(isFailing: boolean) {
      isDown = isFailing;
    },
  };
}

test.runIf(isSoak)('views follow at most once an hour, and at the end, if files have changed', async () => {
  const at = await openUploads();
  let upload = at.create();
  await at.commit();
  await upload(at.owner.head());
  expect(await at.views()).toEqual(['analytics/000000000002.duckdb']);
  await at.commit();
  at.clock.leap(59 * MINUTE_MS);
  await upload(at.owner.head());
  expect(at.asked()).toBe(1);
  at.clock.leap(2 * MINUTE_MS);
  await upload(at.owner.head());
  await upload(at.owner.head(), { isFinal: true });
  expect(await at.views()).toEqual(['analytics/000000000002.duckdb', 'analytics/000000000003.duckdb']);
  expect(at.asked()).toBe(1);

  // Another process, which finds them in the store.
  upload = at.create();
  await at.commitSame();
  at.clock.leap(2 * HOUR_MS);
  await upload(at.owner.head(), { isFinal: true });
  expect(at.asked()).toBe(0);
  await at.commit();
  at.clock.leap(-5 * HOUR_MS);
  await upload(at.owner.head());
  await at.commit();
  await upload(at.owner.head());
  await upload(at.owner.head(), { isFinal: true });
  expect(await at.views()).toHaveLength(4);
});

test('views of files that do not change are uploaded again before their commit is old', async () => {
  const at = await openUploads();
  const upload = at.create();
  await at.commit();
  await upload(at.owner.head());
  await at.commitSame();
  at.clock.leap(11 * HOUR_MS);
  await upload(at.owner.head());
  expect(await at.views()).toHaveLength(1);
  at.clock.leap(2 * HOUR_MS);
  await upload(at.owner.head());
  expect(await at.views()).toHaveLength(2);
});

test('a failed upload is no error, and the next one waits for ten minutes', async () => {
  const at = await openUploads();
  const upload = at.create();
  await at.commit();
  at.fail(true);
  for (let count = 0; count < 3; count++) await upload(at.owner.head());
  expect(at.asked()).toBe(1);
  at.fail(false);
  at.clock.leap(11 * MINUTE_MS);
  await upload(at.owner.head());
  expect(await at.views()).toHaveLength(1);
});

test('views wait until the lake has all its files, and not longer if the clock is set back', async () => {
  const at = await openUploads();
  const upload = at.create();
  await at.commit();
  const incomplete = join(at.paths.root, INCOMPLETE_FILE);
  writeFileSync(incomplete, '');
  await upload(at.owner.head(), { isFinal: true });
  expect(await at.views()).toEqual([]);
  rmSync(incomplete);
  await upload(at.owner.head());
  expect(await at.views()).toHaveLength(1);
  await at.commit();
  at.clock.set(at.clock.now() - 2 * HOUR_MS);
  await upload(at.owner.head());
  expect(await at.views()).toHaveLength(2);
});
