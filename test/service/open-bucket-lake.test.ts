import { existsSync, mkdirSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { configSchema } from '../../src/config/config.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { DAY_MS, HOUR_MS, SECOND_MS } from '../../src/lib/time.ts';
import { createStatusBook } from '../../src/pipeline/workgroup-status.ts';
import { holdCache } from '../../src/service/hold-roles.ts';
import { openBucketLake } from '../../src/service/open-bucket-lake.ts';
import { createFolderStore } from '../../src/storage/folder-store.ts';
import { workgroupStore } from '../../src/storage/workgroup-store.ts';
import { storeDays, WORKGROUP } from '../publish/publish-fixture.ts';
import { openReport, type ReportFixture } from '../report/report-fixture.ts';
import { type Fate, startLossyProxy } from '../support/lossy-proxy.ts';
import { s3ForTests, s3Missing } from '../support/s3-for-tests.ts';
import { tempDir } from '../support/temp-dir.ts';

/** The settings of a bucket that no other test uses. */
async function bucketConfig(dataDir: string) {
  return configSchema.parse({
    dataDir,
    storage: { s3: await s3ForTests() },
    workgroups: [{ id: WORKGROUP }],
  });
}

type BucketConfig = Awaited<ReturnType<typeof bucketConfig>>;

/** Copies the local lake into the bucket. */
async function copyLake({ storage }: BucketConfig, { paths }: ReportFixture): Promise<void> {
  const local = createFolderStore(paths.root);
  for (const prefix of ['files/', 'commits/'])
    for await (const { key } of local.list(prefix))
      await workgroupStore(storage, WORKGROUP)!.put(key, { bytes: (await local.get(key))! });
}

async function open(config: BucketConfig, clock: ReportFixture['clock']) {
  const bucket = (await openBucketLake(config, { clock }))!;
  onTestFinished(bucket.close);
  return bucket;
}

describe.skipIf(s3Missing)('the lakes of an installation with a bucket', () => {
  test('a workgroup is read here only while a worker says that it owns its complete lake', {
    tags: ['slow'],
  }, async () => {
    const at = await openReport();
    const config = await bucketConfig(at.dataDir);
    const publishDay = async (energyWh: number) => {
      await storeDays(at.shard, [{ day: '2026-11-18', device: 1, energyWh }]);
      await at.publish();
    };
    await publishDay(1);
    await copyLake(config, at);
    await publishDay(2);
    const bucket = await open(config, at.clock);
    const sequence = async () => (await bucket.source.newestGeneration(WORKGROUP))?.commit.sequence;
    const [here, inBucket] = [2, 1];
    expect(await sequence()).toBe(inBucket);

    const book = createStatusBook({ dataDir: at.dataDir, clock: at.clock, logger: silentLogger });
    const state = {
      lastCommitAtMs: undefined,
      sequence: 1,
      failingSinceMs: undefined,
      lastError: undefined,
    };
    const note = async (facts: Parameters<typeof book.note>[1]) => {
      book.note(WORKGROUP, facts);
      await book.flush();
    };
    await note({});
    expect(await sequence()).toBe(inBucket);
    await note({ bucket: { ...state, isLakeComplete: false } });
    expect(await sequence()).toBe(inBucket);
    await note({ bucket: { ...state, isLakeComplete: true } });
    expect(await sequence()).toBe(here);
    await note({ isHibernated: true });
    expect(await sequence()).toBe(inBucket);
    await note({ isHibernated: false });
    expect(await sequence()).toBe(here);
    // The worker was killed, and another machine can have continued.
    await at.clock.advance(31 * SECOND_MS);
    expect([await sequence(), bucket.isHere(WORKGROUP)]).toEqual([inBucket, false]);
  });

  test('two readers of a data folder have a cache each, and a later one continues with the first', async () => {
    const at = await openReport();
    const config = await bucketConfig(at.dataDir);
    const cacheOf = (bucket: Awaited<ReturnType<typeof open>>) => bucket.source.folders.at(-1);
    const [first, second] = [await open(config, at.clock), await open(config, at.clock)];
    expect([cacheOf(first), cacheOf(second)]).toEqual(
      ['1', '2'].map((number) => join(at.dataDir, 'cache', number)),
    );
    await first.close();
    expect(cacheOf(await open(config, at.clock))).toBe(cacheOf(first));
  });

  test('the cache of a command ends with it, and the caches of dead processes are deleted', async () => {
    const at = await openReport();
    const config = await bucketConfig(at.dataDir);
    const caches = join(at.dataDir, 'cache');
    const leave = (name: string, unusedMs: number) => {
      const folder = join(caches, name);
      mkdirSync(folder, { recursive: true });
      writeFileSync(join(folder, 'some.parquet'), 'some');
      const usedAt = (at.clock.now() - unusedMs) / SECOND_MS;
      for (const path of [join(folder, 'some.parquet'), folder]) utimesSync(path, usedAt, usedAt);
    };
    const service = await open(config, at.clock);
    // Of a killed command, and of two services that were stopped: one some hours ago, one some days ago.
    leave('command-3', 0);
    leave('2', 5 * HOUR_MS);
    leave('4', 2 * DAY_MS);
    // The caches of running processes stay, even if they are not used.
    leave('1', 2 * DAY_MS);
    leave('command-1', 0);
    const release = await holdCache(at.dataDir, 'command-1', at.clock);
    const command = (await openBucketLake(config, { clock: at.clock, isCommand: true }))!;
    expect(command.source.folders).toContain(join(caches, 'command-2'));
    expect(readdirSync(caches).toSorted()).toEqual(['1', '2', 'command-1', 'command-2']);
    await command.close();
    await release!();
    expect(readdirSync(caches).toSorted()).toEqual(['1', '2', 'command-1']);
    await service.close();
    await open(config, at.clock);
    expect(readdirSync(caches).toSorted()).toEqual(['1', '2']);
  });

  test('a start that fails leaves no lock and no incomplete file', async () => {
    const at = await openReport();
    const config = await bucketConfig(at.dataDir);
    const folder = join(at.dataDir, 'cache', '1');
    mkdirSync(join(folder, '..'), { recursive: true });
    writeFileSync(folder, 'in the way');
    await expect(openBucketLake(config, { clock: at.clock })).rejects.toMatchObject({ code: 'EEXIST' });
    rmSync(folder);
    mkdirSync(folder);
    const draft = join(folder, 'file.parquet.part');
    writeFileSync(draft, 'half');
    const bucket = await open(config, at.clock);
    expect(bucket.source.folders).toContain(folder);
    expect(existsSync(draft)).toBe(false);
  });

  test('a bucket that cannot be read is not ready, and only callers on this machine learn why', async () => {
    const at = await openReport();
    const config = await bucketConfig(at.dataDir);
    const bucket = await open(config, at.clock);
    expect(await bucket.readiness({ maySeeNames: true })).toEqual({ ok: true });
    const { s3 } = config.storage;
    const wrong = { ...config, storage: { ...config.storage, s3: { ...s3!, secretAccessKey: 'wrong' } } };
    const refused = await open(wrong, at.clock);
    expect(await refused.readiness({ maySeeNames: false })).toEqual({ ok: false });
    expect(await refused.readiness({ maySeeNames: true })).toEqual({
      ok: false,
      detail: { problem: expect.stringMatching(/^s3:.*secretAccessKey is wrong/) },
    });
  });

  test('the result of a check is used for 10 s, and then the bucket is checked again', async () => {
    const { clock, dataDir } = await openReport();
    const { storage, ...config } = await bucketConfig(dataDir);
    let fate: Fate = 'pass';
    const endpoint = await startLossyProxy(storage.s3!.endpoint, () => fate);
    const s3 = { ...storage.s3!, endpoint };
    const bucket = await open({ ...config, storage: { ...storage, s3 } }, clock);
    const isReady = async () => (await bucket.readiness({ maySeeNames: true })).ok;
    expect(await isReady()).toBe(true);
    fate = 'lose';
    clock.leap(10 * SECOND_MS);
    expect(await isReady()).toBe(true);
    clock.leap(1);
    expect(await isReady()).toBe(false);
    fate = 'pass';
    clock.leap(10 * SECOND_MS);
    expect(await isReady()).toBe(false);
    clock.leap(1);
    expect(await isReady()).toBe(true);
  });
});

test('without a bucket in the configuration nothing is opened', async () => {
  const config = configSchema.parse({ dataDir: tempDir() });
  expect(await openBucketLake(config, { clock: { now: Date.now } })).toBeUndefined();
  expect(existsSync(join(config.dataDir, 'cache'))).toBe(false);
});
