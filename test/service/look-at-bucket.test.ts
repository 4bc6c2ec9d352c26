import { expect, onTestFinished, test } from 'vitest';
import { silentLogger } from '../../src/lib/logger.ts';
import { systemClock } from '../../src/lib/time.ts';
import { createStatusBook } from '../../src/pipeline/workgroup-status.ts';
import { lookAtBucket } from '../../src/service/look-at-bucket.ts';
import { tempDir } from '../support/temp-dir.ts';

test('a workgroup looks only at later commits than its own, and is run if another owner made one', async () => {
  const told: string[] = [];
  const worker = { noteNews: (workgroupId: string) => void told.push(workgroupId) };
  const status = createStatusBook({ dataDir: tempDir(), clock: systemClock, logger: silentLogger });
  onTestFinished(() => status.close());
  const looked: unknown[] = [];
  const lookAt = (sequence: number, answer = async () => undefined as never) =>
    lookAtBucket(worker, 'home', sequence, {
      pipeline: {
        run: (_workgroupId, operation, args) => {
          looked.push([operation, args]);
          return answer();
        },
      },
      status,
      logger: silentLogger,
    });
  status.note('home', {
    bucket: {
      sequence: 7,
      lastCommitAtMs: 0,
      failingSinceMs: undefined,
      lastError: undefined,
      isLakeComplete: true,
    },
  });
  await lookAt(6);
  await lookAt(7);
  expect(looked).toEqual([]);
  await lookAt(8);
  expect(looked).toEqual([['lookAtBucket', { sequence: 8 }]]);
  expect(told).toEqual([]);
  await lookAt(9, () => Promise.reject(new Error('another owner has created commit 9')));
  expect(told).toEqual(['home']);
});
