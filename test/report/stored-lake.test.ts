import { mkdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, onTestFinished, test } from 'vitest';
import { HOUR_MS, systemClock } from '../../src/lib/time.ts';
import { commitPath, fileKey } from '../../src/publish/lake-layout.ts';
import { claimReplica } from '../../src/replica/claim-replica.ts';
import { openLakeReader } from '../../src/report/lake/lake-reader.ts';
import { createLakeReadiness } from '../../src/report/lake/lake-readiness.ts';
import { createStoredLake, type StoredLakeOptions } from '../../src/report/lake/stored-lake.ts';
import { openFileCache } from '../../src/storage/file-cache.ts';
import { createFolderStore } from '../../src/storage/folder-store.ts';
import type { ObjectStore } from '../../src/storage/object-store.ts';
import { createS3Store } from '../../src/storage/s3-store.ts';
import { storeDays, WORKGROUP } from '../publish/publish-fixture.ts';
import { type Fate, startLossyProxy } from '../support/lossy-proxy.ts';
import { isSoak, rounds } from '../support/rounds.ts';
import { s3ForTests, s3Missing } from '../support/s3-for-tests.ts';
import { tempDir } from '../support/temp-dir.ts';
import { until } from '../support/until.ts';
import { energies, home, days as homeDays, range as homeRange } from './balance-home.ts';
import { openBalance } from './balance-support.ts';
import { openPlant, range } from './plant.ts';
import { openReport, type ReportFixture, serveReports } from './report-fixture.ts';

const unavailable = { code: 'StorageUnavailable' };
const day = '2026-11-18';

/** A reader of a store with an empty cache. */
async function openStored(
  store: ObjectStore,
  { bytesMax = 1e8, ...options }: Partial<StoredLakeOptions> & { bytesMax?: number } = {},
) {
  const cache = await openFileCache({ folder: join(tempDir(), 'cache'), bytesMax, pauseMs: 1 });
  const source = createStoredLake({ storeOf: () => store, cache, ...options });
  const lake = await openLakeReader({ source, threads: 1 });
  onTestFinished(async () => {
    await lake.close();
    await cache.close();
  });
  return {
    lake,
    cache,
    noteCommit: source.noteCommit,
    sequence: async () => (await lake.newestGeneration(WORKGROUP))?.commit.sequence,
    /** The energy of the day, read from the files. */
    async energyWh() {
      const generation = await lake.newestGeneration(WORKGROUP);
      if (!generation) return undefined;
      const files = generation.files('daily_energy');
      const paths = files.map(generation.path).map((path) => `'${path}'`);
      const rows = await lake.run({ generation, files }, (connection) =>
        connection.runAndReadAll(`SELECT sum(energy_wh)::INTEGER FROM read_parquet([${paths.join(', ')}])`),
      );
      return rows.getRows()[0]![0];
    },
  };
}

async function publishDay(at: ReportFixture, energyWh: number): Promise<void> {
  await storeDays(at.shard, [{ day, device: 1, energyWh }]);
  await at.publish();
}

/** The lake of a report as a store: files and commits have the same names in both. */
const storeOf = (at: ReportFixture) => createFolderStore(at.paths.root);

/** A bucket with the lake of a report, and the requests that a reader has sent to it. */
async function openBucket(at: ReportFixture) {
  const settings = await s3ForTests();
  const requests: string[] = [];
  let fateOf: (what: string) => Fate = () => 'pass';
  const endpoint = await startLossyProxy(settings.endpoint, ({ path }) => {
    const url = new URL(path, 'http://store');
    const after = url.searchParams.get('start-after');
    const what = url.searchParams.has('list-type')
      ? `LIST ${after?.split('/').slice(-2).join('/') ?? url.searchParams.get('prefix')?.split('/').at(-2)}`
      : `GET ${/(commits|files)\/.*/.exec(url.pathname)?.[0]}`;
    requests.push(what);
    return fateOf(what);
  });
  const direct = createS3Store(settings);
  const known = new Set<string>();
  return {
    store: createS3Store({ ...settings, endpoint }),
    /** The requests since the last call. */
    requests: () => requests.splice(0),
    decide(decide: (what: string) => Fate) {
      fateOf = decide;
    },
    direct,
    /** Uploads what is new in the lake, the commits last. */
    async mirror() {
      const local = storeOf(at);
      for (const prefix of ['files/', 'commits/'])
        for await (const { key } of local.list(prefix)) {
          if (known.has(key)) continue;
          known.add(key);
          await direct.put(key, { bytes: (await local.get(key))! });
        }
    },
  };
}

test('a lake in a store gives the answers of the lake on the disk', { tags: ['slow'] }, async () => {
  const at = await openReport();
  const stored = await openStored(storeOf(at), { lookEveryMs: 0 });
  for (const energyWh of [1, 2, 3]) {
    await publishDay(at, energyWh);
    expect(await stored.energyWh()).toBe(energyWh);
  }
  expect(await createLakeReadiness(stored.lake)([WORKGROUP], at.clock.now())).toMatchObject({
    ok: true,
    detail: { published: 1 },
  });
  const size = stored.cache.usage();
  expect(size.bytes).toBeGreaterThan(0);
  expect(size.heldBytes).toBe(0);
});

// The tests below hold files for one query.
test.runIf(isSoak)('every report holds the files that it reads', async () => {
  const at = await openPlant();
  const paths = [
    `daily-energy?${range}`,
    `daily-energy/details?${range}`,
    `interval-energy?${range}`,
    `meter-data?${range}`,
    // They read the files of the others.
    ...(isSoak
      ? [
          `daily-energy?${range}&groupBy=source`,
          `interval-energy?${range}&groupBy=source`,
          `meter-data?${range}&timezone=America/New_York`,
        ]
      : []),
    `meter-data/details?${range}`,
    `budget-data?${range}&scenario=P50`,
    `sites/plant/reconciliation?${range}`,
    `sites/budgeted/variance?${range}`,
    'device-status',
    'daily-energy/changes?since=2025-01-01',
  ];
  await expectSameAnswers(at, paths);
  const withRoles = await openBalance(home, homeDays, energies);
  await expectSameAnswers(withRoles, [`balance?${homeRange}`]);
});

/** Asks a server of the lake on the disk, and servers of the same lake in a store. */
async function expectSameAnswers(at: ReportFixture, paths: readonly string[]): Promise<void> {
  for (const path of paths) {
    const url = `/api/v1/orgs/${WORKGROUP}/${path}`;
    const expected = await (await at.get(url)).text();
    // Each has an empty cache, so a file that is not held is not there.
    const { lake, cache } = await openStored(storeOf(at));
    const { base } = await serveReports({ ...at, lake });
    const stored = await fetch(base + url, { headers: { Authorization: `Bearer ${at.token}` } });
    expect([path, stored.status, await stored.text()]).toEqual([path, 200, expected]);
    expect([path, cache.usage().files > 0]).toEqual([path, true]);
  }
}

test('a store without any commit of the workgroup is a 503, and a store with only a claim is an empty lake', async () => {
  const store = createFolderStore(join(tempDir(), 'store'));
  const stored = await openStored(store);
  const missing = {
    ...unavailable,
    message: 'no worker has stored data of this workgroup yet; ask again when one runs',
    cause: expect.objectContaining({ code: 'NotInStore' }),
  };
  await expect(stored.sequence()).rejects.toMatchObject(missing);
  await claimReplica(store, { workgroupId: WORKGROUP, clock: systemClock });
  // The store is not asked again for some seconds without news.
  await expect(stored.sequence()).rejects.toMatchObject(missing);
  stored.noteCommit(WORKGROUP, 1);
  expect(await stored.sequence()).toBeUndefined();
  // The owner has published, and the next worker does not know it.
  for (const hasPublished of [true, false]) {
    await claimReplica(store, { workgroupId: WORKGROUP, hasPublished, clock: systemClock });
    await expect((await openStored(store)).sequence()).rejects.toMatchObject(missing);
  }
  const impatient = await openStored(createFolderStore(join(tempDir(), 'store')), { pauseMs: 0 });
  await expect(impatient.sequence()).rejects.toMatchObject(missing);
});

test('a file that was collected is a 503, and then the newest commit is read', {
  tags: ['slow'],
}, async () => {
  const at = await openReport();
  await publishDay(at, 1);
  const stored = await openStored(storeOf(at));
  const before = (await stored.lake.newestGeneration(WORKGROUP))!;
  await publishDay(at, 2);
  // Retention deletes the first commit and its files.
  rmSync(commitPath(at.paths, 1));
  for (const file of before.files('daily_energy')) rmSync(join(at.paths.root, fileKey(file)));
  await expect(stored.energyWh()).rejects.toMatchObject({
    ...unavailable,
    message: 'the published data has changed meanwhile; ask again',
  });
  expect(await stored.energyWh()).toBe(2);
});

test('a running query keeps its files, and a query that needs more than the cache is refused', {
  tags: ['slow'],
}, async () => {
  const at = await openReport();
  await publishDay(at, 1);
  const { lake, cache } = await openStored(storeOf(at), { bytesMax: 100 });
  const generation = (await lake.newestGeneration(WORKGROUP))!;
  const files = generation.files('daily_energy');
  await expect(lake.run({ generation, files }, async () => 1)).rejects.toMatchObject({
    ...unavailable,
    message: expect.stringContaining('ask for fewer days'),
  });
  const large = await openStored(storeOf(at));
  const other = (await large.lake.newestGeneration(WORKGROUP))!;
  const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
  const during = await large.lake.run({ generation: other, files }, async () => large.cache.usage());
  expect(during.heldBytes).toBe(bytes);
  expect([large.cache.usage().heldBytes, cache.usage().heldBytes]).toEqual([0, 0]);
});

test('a store that has lost its commits is a 503, and never an empty answer', {
  tags: ['slow'],
}, async () => {
  const at = await openReport();
  await publishDay(at, 1);
  const stored = await openStored(storeOf(at), { lookEveryMs: 0 });
  expect(await stored.sequence()).toBe(1);
  renameSync(at.paths.commits, `${at.paths.commits}-away`);
  mkdirSync(at.paths.commits);
  for (let asked = 0; asked < 2; asked++) await expect(stored.sequence()).rejects.toMatchObject(unavailable);
  // Another process does not know the commit, but it sees the files.
  const restarted = await openStored(storeOf(at));
  await expect(restarted.sequence()).rejects.toMatchObject(unavailable);
  rmSync(at.paths.commits, { recursive: true });
  renameSync(`${at.paths.commits}-away`, at.paths.commits);
  expect([await stored.sequence(), await restarted.sequence()]).toEqual([1, 1]);
});

describe.skipIf(s3Missing)('a lake in a bucket', () => {
  test('a reader lists from its commit on, rarely, and reads the commits that news names', async () => {
    const at = await openReport();
    const bucket = await openBucket(at);
    await publishDay(at, 1);
    await bucket.mirror();
    const stored = await openStored(bucket.store);
    // Nobody has asked for the workgroup yet, so news of it is not kept.
    stored.noteCommit(WORKGROUP, 1);
    expect(await stored.energyWh()).toBe(1);
    expect(bucket.requests()).toEqual([
      'LIST analytics',
      'LIST commits/000000000000.json',
      'GET commits/000000000001.json',
      expect.stringMatching(/^GET files\/daily_energy\//),
    ]);
    await publishDay(at, 2);
    await publishDay(at, 3);
    await bucket.mirror();
    expect(await stored.energyWh()).toBe(1);
    expect(bucket.requests()).toEqual([]);

    stored.noteCommit(WORKGROUP, 3);
    stored.noteCommit(WORKGROUP, 2);
    expect(await stored.sequence()).toBe(3);
    expect(bucket.requests()).toEqual(['GET commits/000000000003.json']);
    // News of a commit that does not exist costs one look.
    stored.noteCommit(WORKGROUP, 99);
    expect([await stored.sequence(), await stored.sequence()]).toEqual([3, 3]);
    expect(bucket.requests()).toEqual(['GET commits/000000000099.json', 'LIST commits/000000000002.json']);
    expect(await stored.energyWh()).toBe(3);

    const often = await openStored(bucket.store, { lookEveryMs: 0 });
    await often.sequence();
    bucket.requests();
    await publishDay(at, 4);
    await bucket.mirror();
    expect(await often.sequence()).toBe(4);
    expect(bucket.requests()).toEqual(['LIST commits/000000000002.json', 'GET commits/000000000004.json']);
  });

  test('while the store is down the known commit is the answer for a while, and a restart knows none', async () => {
    const at = await openReport();
    const bucket = await openBucket(at);
    await publishDay(at, 1);
    await bucket.mirror();
    const usual = await openStored(bucket.store, { lookEveryMs: 0 });
    const strict = await openStored(bucket.store, { lookEveryMs: 0, staleMsMax: 0 });
    expect([await usual.energyWh(), await strict.energyWh()]).toEqual([1, 1]);
    await publishDay(at, 2);
    await bucket.mirror();
    bucket.decide(() => 'lose');
    expect(await usual.energyWh()).toBe(1);
    const down = {
      ...unavailable,
      message: 'the store of the published data does not answer; ask again in a moment',
    };
    await expect(strict.energyWh()).rejects.toMatchObject(down);
    const restarted = await openStored(bucket.store);
    await expect(restarted.energyWh()).rejects.toMatchObject(down);
    // The next requests do not ask a store that is down.
    bucket.requests();
    expect(await usual.energyWh()).toBe(1);
    expect(bucket.requests()).toEqual([]);

    bucket.decide(() => 'pass');
    expect([await strict.energyWh(), await restarted.energyWh()]).toEqual([2, 2]);
  });

  // The test above has a store that does not answer.
  test.runIf(isSoak)('a store that hangs delays a report only briefly if the commit is known', async () => {
    const at = await openReport();
    const bucket = await openBucket(at);
    await publishDay(at, 1);
    await bucket.mirror();
    const times = { lookEveryMs: 0, patienceMs: 500, pauseMs: HOUR_MS };
    const stored = await openStored(bucket.store, times);
    expect(await stored.energyWh()).toBe(1);
    bucket.decide(() => 'hang');
    // Timers of one process ring in order, however busy the machine is.
    const sequenceWithin = (ms: number) =>
      Promise.race([stored.sequence(), sleep(ms, 'late', { ref: false })]);
    expect(await sequenceWithin(times.patienceMs + 100)).toBe(1);
    // The next requests do not wait.
    for (let asked = 0; asked < 3; asked++) expect(await sequenceWithin(times.patienceMs - 100)).toBe(1);
    expect(await stored.energyWh()).toBe(1);
    const cold = await openStored(bucket.store, { lookMsMax: 1_000 });
    await expect(cold.energyWh()).rejects.toMatchObject(unavailable);
  });

  test('a commit that is deleted between listing and reading is replaced by a newer one', async () => {
    const at = await openReport();
    const bucket = await openBucket(at);
    await publishDay(at, 1);
    await bucket.mirror();
    const stored = await openStored(bucket.store);
    let deleted: Promise<void> | undefined;
    await publishDay(at, 2);
    bucket.decide((what) => {
      if (what !== 'GET commits/000000000001.json' || deleted) return 'pass';
      deleted = bucket.mirror().then(() => bucket.direct.remove('commits/000000000001.json'));
      return 'lose';
    });
    await expect(stored.sequence()).rejects.toMatchObject(unavailable);
    await deleted;
    expect(await stored.sequence()).toBe(2);
  });

  // The tests above lose answers one at a time.
  test.runIf(isSoak)('through a proxy that loses answers every report is right or a 503', async () => {
    const at = await openReport();
    const bucket = await openBucket(at);
    await publishDay(at, 1);
    await bucket.mirror();
    let count = 0;
    const fates: Fate[] = ['pass', 'lose', 'pass', 'drop-answer', 'pass', 'status-after', 'pass', 'pass'];
    bucket.decide(() => fates[count++ % fates.length]!);
    const stored = await openStored(bucket.store, { lookEveryMs: 0, pauseMs: 0 });
    let [newest, seen, refused] = [1, 0, 0];
    for (let round = 0; round < rounds(20, 40); round++) {
      if (round % 5 === 4) {
        newest += 1;
        await publishDay(at, newest);
        await bucket.mirror();
      }
      try {
        const energyWh = Number(await stored.energyWh());
        // An answer is never older than one before it.
        expect(energyWh).toBeGreaterThanOrEqual(seen);
        expect(energyWh).toBeLessThanOrEqual(newest);
        seen = energyWh;
      } catch (error) {
        expect(error).toMatchObject(unavailable);
        refused += 1;
      }
    }
    expect(seen).toBeGreaterThan(2);
    expect(refused).toBeLessThan(rounds(10, 20));
    bucket.decide(() => 'pass');
    await until('the newest is seen', async () => (await stored.energyWh()) === newest);
  });
});
