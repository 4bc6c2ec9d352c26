// @module-tag slow
import { readdirSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { commitSnapshot } from '../../src/backup/commit-snapshot.ts';
import { isRestorable, readStoredCommit } from '../../src/backup/stored-commits.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { HOUR_MS } from '../../src/lib/time.ts';
import { listSequences } from '../../src/publish/lake-commit.ts';
import { commitPath, lakePaths } from '../../src/publish/lake-layout.ts';
import { publish } from '../../src/publish/publish.ts';
import { retainLake } from '../../src/publish/retain-lake.ts';
import { packsOf } from '../../src/snapshot/take-snapshot.ts';
import { createFolderStore } from '../../src/storage/folder-store.ts';
import { openShard } from '../../src/warehouse/shard.ts';
import { landMessages, WORKGROUP } from '../publish/publish-fixture.ts';
import { tempDir } from '../support/temp-dir.ts';
import { createTestClock, TEST_START_MS } from '../support/test-clock.ts';

/** An open lake with the clock of the test. */
async function openSnapshots() {
  const lakeDir = tempDir();
  const clock = createTestClock(Date.now());
  const shard = await openShard({
    path: join(tempDir(), 'acme.duckdb'),
    workgroupId: WORKGROUP,
    memoryMegabytes: 256,
    threads: 1,
    folders: [lakeDir],
    clock,
    logger: silentLogger,
  });
  onTestFinished(() => shard.close());
  const options = { lakeDir, clock, logger: silentLogger };
  const paths = lakePaths(lakeDir, WORKGROUP);
  const folder = join(paths.root, 'snapshots');
  const store = createFolderStore(paths.root);
  let count = 0;
  return {
    clock,
    paths,
    packs: () => readdirSync(folder).map((name) => `snapshots/${name}`),
    /** Makes all packs old enough to be deleted. */
    age() {
      const seconds = (clock.now() - 2 * HOUR_MS) / 1_000;
      for (const name of readdirSync(folder)) utimesSync(join(folder, name), seconds, seconds);
    },
    async snapshot() {
      await landMessages(shard, { count: 2, storeTimeMs: TEST_START_MS + ++count * 1_000 });
      await publish(shard, options);
      return commitSnapshot(shard, options);
    },
    /** The packs of the snapshots of all generations. */
    async neededPacks() {
      const needed = new Set<string>();
      for (const sequence of await listSequences(paths)) {
        const commit = await readStoredCommit(store, sequence);
        if (isRestorable(commit))
          for (const { key } of await packsOf(store, commit.snapshot)) needed.add(key);
      }
      return [...needed].sort();
    },
    retain: () => retainLake(shard, { ...options, keepGenerationsMs: 0 }),
  };
}

test('packs of generations that retention has deleted are deleted, and the others stay', async () => {
  const at = await openSnapshots();
  for (let round = 0; round < 4; round++) {
    await at.snapshot();
    // Generations with views stay for an hour.
    at.clock.leap(2 * HOUR_MS);
  }
  const unneeded = 'snapshots/000000000000-0.pack';
  writeFileSync(join(at.paths.root, unneeded), 'of a crash');
  let first: string[] = [];
  for (let round = 0; round < 6; round++) {
    await at.retain();
    at.age();
    await at.snapshot();
    expect(at.packs().toSorted()).toEqual(await at.neededPacks());
    if (round === 0) first = at.packs();
    at.clock.leap(2 * HOUR_MS);
  }
  expect(first).not.toContain(unneeded);
  expect(first.some((pack) => !at.packs().includes(pack))).toBe(true);
});

test('a snapshot reads no commit that was there at the one before', async () => {
  const at = await openSnapshots();
  for (let round = 0; round < 3; round++) await at.snapshot();
  at.age();
  const last = await at.snapshot();
  for (let sequence = 1; sequence < last.sequence; sequence++)
    writeFileSync(commitPath(at.paths, sequence), 'not to be read again');
  const before = at.packs();
  at.age();
  const next = await at.snapshot();
  expect(next.sequence).toBeGreaterThan(last.sequence);
  // All generations are young, so they keep their packs.
  expect(at.packs()).toEqual(expect.arrayContaining(before));
});
