import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import fc from 'fast-check';
import { describe, expect, onTestFinished, test } from 'vitest';
import { backupLake } from '../../src/backup/backup-lake.ts';
import { bundledFiles, bundledStore } from '../../src/backup/bundled-store.ts';
import { readStoredCommit } from '../../src/backup/stored-commits.ts';
import { verifyLake } from '../../src/backup/verify-lake.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { systemClock } from '../../src/lib/time.ts';
import type { Commit, LakeFile } from '../../src/publish/commit-schema.ts';
import { compactLake } from '../../src/publish/compact-lake.ts';
import { datasets } from '../../src/publish/datasets.ts';
import { commitText } from '../../src/publish/lake-commit.ts';
import { commitKey, fileKey } from '../../src/publish/lake-layout.ts';
import { publish } from '../../src/publish/publish.ts';
import { objectKeys, readReplicaCommit } from '../../src/replica/replica-commit.ts';
import { planBundles } from '../../src/replica/upload-bundle.ts';
import { openLakeReader } from '../../src/report/lake/lake-reader.ts';
import { createStoredLake } from '../../src/report/lake/stored-lake.ts';
import { openFileCache } from '../../src/storage/file-cache.ts';
import { createFolderStore } from '../../src/storage/folder-store.ts';
import type { ObjectStore } from '../../src/storage/object-store.ts';
import { landMessages, storeDays, WORKGROUP } from '../publish/publish-fixture.ts';
import { isSoak, rounds } from '../support/rounds.ts';
import { tempDir } from '../support/temp-dir.ts';
import { TEST_START_MS } from '../support/test-clock.ts';
import { keysOf, machine, stores, work } from './replica-fixture.ts';

const folderStore = () => createFolderStore(join(tempDir(), 'store'));
const file = (name: string, bytes: number) => ({ name, bytes }) as LakeFile;

test('small files are bundled, and large files and a single file are separate objects', () => {
  const [a, b, large, c] = [file('a', 10), file('b', 20), file('large', 5_000_000), file('c', 30)];
  expect(planBundles([])).toEqual({ bundles: [], others: [] });
  expect(planBundles([a, large])).toEqual({ bundles: [], others: [a, large] });
  expect(planBundles([a, large, b, c])).toEqual({ bundles: [[a, b, c]], others: [large] });
  const many = Array.from({ length: 17 }, (_, index) => file(`${index}`, 4_000_000));
  expect(planBundles(many).bundles.map(({ length }) => length)).toEqual([8, 8]);
  expect(planBundles(many).others).toEqual(many.slice(16));
});

/** The rows of all datasets of a lake in a bucket, as a reader with this cache sees them. */
async function openReader(store: ObjectStore, folder: string) {
  const cache = await openFileCache({ folder, bytesMax: 1e8, pauseMs: 1 });
  const lake = await openLakeReader({
    source: createStoredLake({ storeOf: () => store, cache, lookEveryMs: 0 }),
  });
  return {
    async rows(): Promise<unknown> {
      const generation = (await lake.newestGeneration(WORKGROUP))!;
      const { files } = generation.commit;
      return lake.run({ generation, files }, (connection) =>
        rowsOf(connection, files, (one) => generation.path(one)),
      );
    },
    async close() {
      await lake.close();
      await cache.close();
    },
  };
}

type Connection = Awaited<ReturnType<DuckDBInstance['connect']>>;

async function rowsOf(
  connection: Connection,
  files: readonly LakeFile[],
  pathOf: (file: LakeFile) => string,
): Promise<unknown> {
  const found: Record<string, unknown> = {};
  for (const dataset of Object.keys(datasets)) {
    const paths = files.filter((one) => one.dataset === dataset).map((one) => `'${pathOf(one)}'`);
    if (paths.length === 0) continue;
    const sql = `SELECT count(*)::INTEGER, sum(hash(one))::VARCHAR FROM read_parquet([${paths.join(', ')}], hive_partitioning = false, union_by_name = true) AS one`;
    found[dataset] = (await connection.runAndReadAll(sql)).getRows();
  }
  return found;
}

async function localRows(root: string, { files }: Commit): Promise<unknown> {
  const instance = await DuckDBInstance.create(':memory:');
  try {
    return await rowsOf(await instance.connect(), files, (one) => join(root, fileKey(one)));
  } finally {
    instance.closeSync();
  }
}

const steps = ['land', 'days', 'publish', 'compact', 'mirror', 'unbundle', 'collect', 'restart'] as const;
/** Steps that write objects to the bucket or delete some. After the others it is as before. */
const inBucket = new Set<(typeof steps)[number]>(['land', 'mirror', 'unbundle', 'collect']);

test('after any steps a reader of the bucket sees the rows of the local lake', {
  tags: ['slow'],
  timeout: 240_000,
}, async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.constantFrom(...steps), { minLength: 5, maxLength: 14 }), async (chosen) => {
      const store = folderStore();
      const on = machine();
      const { shard, owner, snapshot } = await work(on, store);
      const options = { lakeDir: on.lakeDir, clock: systemClock, logger: silentLogger };
      const warm = tempDir();
      let reader = await openReader(store, warm);
      let energyWh = 0;
      const take: Record<(typeof steps)[number], () => Promise<unknown>> = {
        async land() {
          const last = (await shard.checkpoint('stream'))?.lastStoreTimeMs ?? TEST_START_MS;
          await landMessages(shard, { count: 3, storeTimeMs: last + 1_000 });
          await publish(shard, options);
        },
        days: () => storeDays(shard, [{ day: '2026-11-18', device: 1, energyWh: ++energyWh }]),
        publish: () => publish(shard, options),
        compact: () => compactLake(shard, options),
        mirror: async () => owner.mirror(await snapshot()),
        unbundle: () => owner.unbundle(owner.head()),
        collect: () => owner.collect({ unnamedMs: 0, contentMs: 0 }),
        async restart() {
          await reader.close();
          reader = await openReader(store, warm);
        },
      };
      for (const step of ['land', ...chosen] as const) {
        await take[step]();
        if (step === 'land') await take.mirror();
        const generation = owner.head();
        const expected = await localRows(on.root, generation);
        expect(await reader.rows()).toEqual(expected);
        if (!inBucket.has(step)) continue;
        const cold = await openReader(store, tempDir());
        expect(await cold.rows()).toEqual(expected);
        await cold.close();
      }
      await reader.close();
      await shard.close();
    }),
    { numRuns: rounds(2, 12), endOnFailure: true },
  );
});

describe.each(stores)('bundles in a $kind', ({ open }) => {
  test.runIf(isSoak)('a takeover, a backup and a check read the files of bundles', async () => {
    const store = await open();
    const a = await work(machine(), store);
    for (let count = 0; count < 3; count++) await a.owner.mirror(await a.grow());
    const head = a.owner.head();
    expect(head.bundles).toHaveLength(1);
    expect(bundledFiles(head).size).toBeGreaterThan(1);
    const stagingDir = tempDir();
    const verify = () => verifyLake({ store, stagingDir: join(stagingDir, 'verify'), clock: systemClock });
    expect(await verify()).toMatchObject({ restorable: { sequence: head.sequence }, broken: [] });

    // Separate objects, and the commit after them.
    const copied = await a.owner.unbundle(head);
    expect(copied).toBe(bundledFiles(head).size);
    expect(await a.owner.unbundle(head)).toBe(0);
    for (const one of head.files)
      expect(await store.download(fileKey(one), join(stagingDir, 'file'), one)).toBe(true);
    const content = await a.content();
    await a.shard.close();

    const target = createFolderStore(join(tempDir(), 'backup'));
    await backupLake({
      source: { store },
      sequence: head.sequence,
      target,
      stagingDir: join(stagingDir, 'backup'),
    });
    expect(await keysOf(target, 'bundles/')).toEqual([]);
    expect(await readStoredCommit(target, head.sequence)).not.toHaveProperty('bundles');
    for (const one of head.files) expect(await target.get(fileKey(one))).toHaveLength(one.bytes);

    const b = await work(machine(), store);
    expect(b.taken.warehouse).toBe('restored');
    expect(await b.content()).toEqual(content);
    await b.owner.mirror(await b.grow());
    expect(b.owner.head().files.length).toBeGreaterThan(head.files.length);
    for (const key of objectKeys(b.owner.head())) expect(await keysOf(store, key)).toEqual([key]);
  });
});

test('files that are separate objects leave their bundles, and empty bundles are collected', {
  tags: ['slow'],
}, async () => {
  const store = folderStore();
  const a = await work(machine(), store);
  await a.owner.mirror(await a.grow());
  const [first] = a.owner.head().bundles!;
  await a.owner.unbundle(a.owner.head());
  await a.owner.mirror(await a.grow());
  const head = a.owner.head();
  expect(head.bundles!.map(({ key }) => key)).not.toContain(first!.key);
  await a.owner.collect({ contentMs: -1, unnamedMs: -1 });
  expect(await keysOf(store, 'bundles/')).toEqual(head.bundles!.map(({ key }) => key));
  for (const key of objectKeys(head)) expect(await keysOf(store, key)).toEqual([key]);
});

test.runIf(isSoak)('a commit never names more than a hundred bundles', { timeout: 240_000 }, async () => {
  const store = folderStore();
  const on = machine();
  const { shard, owner, snapshot } = await work(on, store);
  onTestFinished(() => shard.close());
  await landMessages(shard, { count: 3, storeTimeMs: TEST_START_MS });
  await publish(shard, { lakeDir: on.lakeDir, clock: systemClock, logger: silentLogger });
  const generation = await snapshot();
  const [one, other] = generation.files;
  for (let round = 0; round < 104; round++) {
    // The same bytes with new names, as if two new files had been published.
    const copies = [one!, other!].map((file) => ({
      ...file,
      name: `${String(round).padStart(12, '0')}-${file.name.slice(13)}`,
    }));
    for (const [at, copy] of copies.entries()) {
      const bytes = (await createFolderStore(on.root).get(fileKey([one!, other!][at]!)))!;
      await createFolderStore(on.root).put(fileKey(copy), { bytes });
    }
    generation.files.push(...copies);
    await owner.mirror({ ...generation, nonce: String(round).padStart(32, '0') });
    expect(owner.head().bundles!.length).toBeLessThanOrEqual(100);
  }
  expect(owner.head().bundles!.length).toBeLessThan(10);
  for (const key of objectKeys(owner.head())) expect(await keysOf(store, key)).toEqual([key]);
});

test('a bundle that is damaged or missing is found, and its files are never read', {
  tags: ['slow'],
}, async () => {
  const store = folderStore();
  const a = await work(machine(), store);
  await a.owner.mirror(await a.grow());
  const head = a.owner.head();
  const [bundle] = head.bundles!;
  const bytes = (await store.get(bundle!.key))!;
  const damaged = Buffer.from(bytes);
  damaged[20]! ^= 1;
  await store.remove(bundle!.key);
  await store.put(bundle!.key, { bytes: damaged });
  const cold = await openReader(store, tempDir());
  onTestFinished(() => cold.close());
  await expect(cold.rows()).rejects.toThrow('a file of the published data');
  const verified = await verifyLake({ store, stagingDir: join(tempDir(), 'verify'), clock: systemClock });
  expect(verified.restorable).toBeUndefined();
  expect(verified.broken[0]!.key).toContain(bundle!.key);
  await store.remove(bundle!.key);
  const source = bundledStore(store, head);
  const [key] = bundledFiles(head).keys();
  expect(await source.get(key!)).toBeUndefined();
  expect(await source.download(key!, join(tempDir(), 'file'), head.files[0]!)).toBe(false);
});

test('a commit with files that are not within their bundle is refused before they are read', {
  tags: ['slow'],
}, async () => {
  const store = folderStore();
  const a = await work(machine(), store);
  await a.owner.mirror(await a.grow());
  const head = a.owner.head();
  const [bundle] = head.bundles!;
  const { name } = bundle!.places.at(-1)!;
  const files = head.files.map((one) => (one.name === name ? { ...one, bytes: 2 ** 40 } : one));
  const refusal = { code: 'ObjectDamaged', message: expect.stringContaining(`${name} is not within`) };
  expect(() => bundledStore(store, { ...head, files })).toThrow(expect.objectContaining(refusal));
  const sequence = head.sequence + 1;
  const huge = { ...head, sequence, files, bundles: [{ ...bundle!, bytes: 2 ** 41 }] };
  await store.createKey(commitKey(sequence), Buffer.from(commitText(huge)));
  const refused = { code: 'ObjectDamaged', message: expect.stringContaining('bundles.0.bytes: Too big') };
  await expect(readStoredCommit(store, sequence)).rejects.toMatchObject(refused);
  await expect(readReplicaCommit(store, sequence)).rejects.toMatchObject(refused);
});
