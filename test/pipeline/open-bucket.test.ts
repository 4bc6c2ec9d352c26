import { expect, onTestFinished, test } from 'vitest';
import { createAudit } from '../../src/audit/audit.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { systemClock } from '../../src/lib/time.ts';
import type { Assignment } from '../../src/pipeline/assignment.ts';
import { closeAssignment, openAssignment } from '../../src/pipeline/open-assignment.ts';
import { operations } from '../../src/pipeline/operations.ts';
import { readReplicaHead } from '../../src/replica/replica-commit.ts';
import { workgroupStore } from '../../src/storage/workgroup-store.ts';
import { landMessages } from '../publish/support.ts';
import { s3ForTests, s3Missing } from '../support/s3-for-tests.ts';
import { tempDir } from '../support/temp-dir.ts';
import { TEST_START_MS } from '../support/test-clock.ts';
import { assignmentOf } from './answers.ts';

test.skipIf(s3Missing)('going back to an earlier commit is in the audit log', async () => {
  const { timeouts: _, ...s3 } = await s3ForTests();
  const assignmentIn = (dataDir: string): Assignment => ({
    ...assignmentOf(dataDir),
    storage: { s3: s3 as never },
  });
  const store = workgroupStore(assignmentIn('').storage!, 'acme')!;
  const a = await openAssignment(assignmentIn(tempDir()), systemClock, silentLogger);
  for (const round of [1, 2]) {
    await landMessages(a.shard, { count: 5, storeTimeMs: TEST_START_MS + round * 10_000 });
    await operations.commit(a, { isComplete: true });
  }
  await closeAssignment(a);
  const { pack } = (await readReplicaHead(store))!.snapshot!;
  const bytes = (await store.get(pack, { bytesMax: 100_000_000 }))!;
  bytes[100]! ^= 1;
  await store.put(pack, { bytes });

  const dataDir = tempDir();
  const b = await openAssignment(assignmentIn(dataDir), systemClock, silentLogger);
  onTestFinished(() => closeAssignment(b));
  expect(createAudit({ dataDir, actor: 'test', clock: systemClock }).waiting('acme')).toBe(1);
});
