// @module-tag slow
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { restoreLake } from '../../src/backup/restore-lake.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { systemClock } from '../../src/lib/time.ts';
import { claimWorkgroup } from '../../src/pipeline/claim-workgroup.ts';
import { readReplicaCommit } from '../../src/replica/replica-commit.ts';
import { createFolderStore } from '../../src/storage/folder-store.ts';
import type { ObjectStore } from '../../src/storage/object-store.ts';
import { machine, sharedMirrored, takeOver, work } from '../replica/replica-fixture.ts';
import { tempDir } from '../support/temp-dir.ts';
import { assignmentOf } from './answers.ts';

const sharedTwo = sharedMirrored(2);

/** Claims the workgroup of a data folder, with a configuration that has no bucket. */
const claimWithoutBucket = (dataDir: string) => claimIn(dataDir, undefined);
const claimIn = (dataDir: string, store: ObjectStore | undefined) =>
  claimWorkgroup(
    assignmentOf(dataDir),
    { claims: new Map(), clock: systemClock, logger: silentLogger },
    store,
  );

test('without its bucket a workgroup is refused until its lake is complete, for example restored', async () => {
  const store = createFolderStore(join(tempDir(), 'store'));
  const first = machine();
  const { owner, shard, grow } = await work(first, store);
  const commit = await grow();
  await owner.mirror(commit);
  await shard.close();

  const dataDir = tempDir();
  const next = machine(dataDir);
  expect(await claimWithoutBucket(dataDir)).toBeUndefined();
  await takeOver(next, store);
  await expect(claimWithoutBucket(dataDir)).rejects.toMatchObject({
    code: 'LakeIncomplete',
    message: `the lake ${next.root} is not complete: its files were being copied from the bucket of storage.s3, which is not configured any more. Configure storage.s3 again until "wattline status" shows no missing files, or stop the service and run "wattline restore --force" with the place of a backup`,
  });
  const source = createFolderStore(first.root);
  await restoreLake({ source, commit, ...next, force: true, clock: systemClock });
  expect(await claimWithoutBucket(dataDir)).toBeUndefined();
});

test('the audit log says that an earlier commit was restored, because what came after it is lost', async () => {
  const { store } = sharedTwo();
  const { snapshot } = (await readReplicaCommit(store, 3))!;
  const path = join(store.address, snapshot!.pack);
  const bytes = readFileSync(path);
  bytes[100]! ^= 1;
  writeFileSync(path, bytes);
  const dataDir = tempDir();
  const claimed = await claimIn(dataDir, store);
  expect(claimed?.rolledBack).toMatchObject({ to: 2 });
  const folder = join(dataDir, 'audit', 'acme');
  const entries = readdirSync(folder).map((name) => JSON.parse(readFileSync(join(folder, name), 'utf8')));
  expect(entries).toMatchObject([
    {
      action: 'bucket.rolled-back',
      target: 'commit 2',
      data: { reason: expect.stringContaining('is damaged') },
    },
  ]);
});

test('a claim says whether readers must wait for the first copy, and a sound bucket leaves no entry', async () => {
  const { store } = sharedTwo();
  const dataDir = tempDir();
  expect((await claimIn(dataDir, store))?.rolledBack).toBeUndefined();
  expect(existsSync(join(dataDir, 'audit'))).toBe(false);
  // A new bucket of a machine that has published before, and of a new machine.
  const { own } = sharedTwo();
  const claimOf = async (folder: string) =>
    (await claimIn(folder, createFolderStore(join(tempDir(), 'store'))))?.claim;
  expect(await claimOf(dirname(own.lakeDir))).toMatchObject({ sequence: 1, hasPublished: true });
  expect((await claimOf(tempDir()))?.hasPublished ?? false).toBe(false);
});
