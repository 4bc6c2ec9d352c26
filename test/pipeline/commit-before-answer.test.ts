import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { StaleOwnerError } from '../../src/lib/errors.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { systemClock } from '../../src/lib/time.ts';
import { commitBeforeAnswer } from '../../src/pipeline/commit-before-answer.ts';
import { closeAssignment, openAssignment } from '../../src/pipeline/open-assignment.ts';
import { openWorkgroupBucket } from '../../src/pipeline/open-bucket.ts';
import { claimReplica } from '../../src/replica/claim-replica.ts';
import { createFolderStore } from '../../src/storage/folder-store.ts';
import { tempDir } from '../support/temp-dir.ts';
import { assignmentOf } from './answers.ts';

test('a caller learns that another worker has claimed the workgroup, and can ask that one', async () => {
  const open = await openAssignment(assignmentOf(tempDir()), systemClock, silentLogger);
  onTestFinished(() => closeAssignment(open));
  const store = createFolderStore(join(tempDir(), 'store'));
  const claim = () => claimReplica(store, { workgroupId: 'acme', clock: systemClock });
  const claimed = { store, claim: (await claim()).commit, warehouse: 'new' as const, movedAway: [] };
  open.bucket = await openWorkgroupBucket(open, claimed);
  open.snapshots.isWanted = true;
  await claim();
  await expect(commitBeforeAnswer(open, '')).rejects.toThrow(StaleOwnerError);
});
