// @module-tag slow
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { verifyLake } from '../../src/backup/verify-lake.ts';
import type { Commit, LakeFile } from '../../src/publish/commit-schema.ts';
import { commitText } from '../../src/publish/lake-commit.ts';
import { commitPath, fileKey } from '../../src/publish/lake-layout.ts';
import { totalsOf } from '../../src/publish/publish.ts';
import { createFolderStore } from '../../src/storage/folder-store.ts';
import { landMessages, openFixture, storeDays } from '../publish/publish-fixture.ts';
import { tempDir } from '../support/temp-dir.ts';
import { createTestClock, TEST_START_MS } from '../support/test-clock.ts';

/** A lake with three messages and a day of 700 Wh. A test can write its newest commit again. */
async function setUp() {
  const clock = createTestClock();
  const { shard, paths, publish, head } = await openFixture(tempDir(), clock);
  await landMessages(shard, { count: 3, storeTimeMs: TEST_START_MS });
  await storeDays(shard, [{ day: '2026-11-20', device: 1, energyWh: 700 }]);
  await publish();
  await shard.close();
  const commit = await head();
  const file = commit.files.find(({ dataset }) => dataset === 'daily_energy')!;
  const stagingDir = join(tempDir(), 'verify');
  return {
    commit,
    file,
    write: (changed: Commit) => writeFileSync(commitPath(paths, changed.sequence), commitText(changed)),
    /** The commit with other notes about the file, and the totals of these notes. */
    withNotes(notes: Partial<LakeFile>): Commit {
      const files = commit.files.map((one) => (one === file ? { ...file, ...notes } : one));
      return { ...commit, files, totals: totalsOf(files) };
    },
    verify: () => verifyLake({ store: createFolderStore(paths.root), stagingDir, clock }),
  };
}

test('totals that differ from the files are found', async () => {
  const { commit, write, verify } = await setUp();
  expect(await verify()).toMatchObject({ commits: 1, files: commit.files.length, broken: [] });
  for (const changed of [{ messages: 2 }, { dailyEnergyWh: 701 }]) {
    write({ ...commit, totals: { ...commit.totals, ...changed } });
    expect(await verify(), JSON.stringify(changed)).toMatchObject({
      commits: 0,
      broken: [{ key: 'commits/1', why: 'the totals of commit 1 are not those of its files' }],
    });
  }
});

test('rows and energy of a file that are not the noted ones are found', async () => {
  const { file, withNotes, write, verify } = await setUp();
  write(withNotes({ rows: 2 }));
  const broken = (why: string) => [{ key: fileKey(file), why }];
  expect(await verify()).toMatchObject({
    commits: 1,
    broken: broken('it has 1 row instead of the noted 2'),
  });
  write(withNotes({ energyWh: 699 }));
  expect(await verify()).toMatchObject({ broken: broken('it has 700 Wh instead of the noted 699') });
});

test('two commits that note different hashes of one file are found', async () => {
  const { commit, file, withNotes, write, verify } = await setUp();
  write({ ...withNotes({ sha256: '0'.repeat(64) }), sequence: 2 });
  expect(await verify()).toMatchObject({
    commits: 1,
    files: commit.files.length,
    broken: [
      { key: 'commits/2', why: `commit 2 notes another SHA-256 of ${fileKey(file)} than an earlier one` },
    ],
  });
});
