import { expect, onTestFinished, test } from 'vitest';
import { configSchema } from '../../src/config/config.ts';
import { createWorkgroups } from '../../src/config/workgroups.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { systemClock } from '../../src/lib/time.ts';
import { createStatusBook } from '../../src/pipeline/workgroup-status.ts';
import { followStreams, lookAtBucket } from '../../src/service/follow-news.ts';
import { tempDir } from '../support/temp-dir.ts';

/** A worker that writes down its news. */
function setUp() {
  const told: string[] = [];
  return { told, worker: { noteNews: (workgroupId: string) => void told.push(workgroupId) } };
}

test('messages that nobody reads are no news: of a workgroup with an upstream, and of a removed one', () => {
  const { told, worker } = setUp();
  const upstream = { url: 'https://example.com', workgroup: 'acme' };
  const config = configSchema.parse({ workgroups: [{ id: 'home' }, { id: 'copy', upstream }] });
  followStreams(worker, {
    workgroups: createWorkgroups(config),
    news: {
      onAppended: (listener) => {
        for (const workgroupId of ['removed', 'copy', 'home']) listener(workgroupId);
      },
    },
  });
  expect(told).toEqual(['home']);
});

test('a workgroup looks only at later commits than its own, and is run if another owner made one', async () => {
  const { told, worker } = setUp();
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
