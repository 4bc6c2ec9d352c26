import { join } from 'node:path';
import { expect, test } from 'vitest';
import { restoreLake } from '../../src/backup/restore-lake.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { systemClock } from '../../src/lib/time.ts';
import { claimWorkgroup } from '../../src/pipeline/claim-workgroup.ts';
import { createFolderStore } from '../../src/storage/folder-store.ts';
import { machine, takeOver, work } from '../replica/replica-fixture.ts';
import { tempDir } from '../support/temp-dir.ts';
import { assignmentOf } from './answers.ts';

/** Claims the workgroup of a data folder, with a configuration that has no bucket. */
const claimWithoutBucket = (dataDir: string) =>
  claimWorkgroup(assignmentOf(dataDir), {
    claims: new Map(),
    clock: systemClock,
    logger: silentLogger,
  });

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
