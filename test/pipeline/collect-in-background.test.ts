import { expect, onTestFinished, test } from 'vitest';
import { type Logger, silentLogger } from '../../src/lib/logger.ts';
import { type Clock, HOUR_MS, MINUTE_MS } from '../../src/lib/time.ts';
import { commitBeforeAnswer } from '../../src/pipeline/commit-before-answer.ts';
import { closeAssignment, openAssignment } from '../../src/pipeline/open-assignment.ts';
import { operations } from '../../src/pipeline/operations.ts';
import { readReplicaHead } from '../../src/replica/replica-commit.ts';
import type { S3Settings } from '../../src/storage/s3-store.ts';
import { workgroupStore } from '../../src/storage/workgroup-store.ts';
import { landMessages } from '../publish/publish-fixture.ts';
import { type Fate, startLossyProxy } from '../support/lossy-proxy.ts';
import { s3ForTests, s3Missing } from '../support/s3-for-tests.ts';
import { tempDir } from '../support/temp-dir.ts';
import { TEST_START_MS } from '../support/test-clock.ts';
import { until } from '../support/until.ts';
import { assignmentOf } from './answers.ts';

/** A clock that is ahead of the clock of the machine. */
function createAheadClock(): Clock & { aheadMs: number } {
  return {
    aheadMs: 0,
    now() {
      return Date.now() + this.aheadMs;
    },
    elapsed() {
      return performance.now() + this.aheadMs;
    },
  };
}

/** Counts the events of each name. */
function countingLogger(): { logger: Logger; countOf: (event: string) => number } {
  const counts = new Map<string, number>();
  const count = (_fields: object, event: string) => void counts.set(event, (counts.get(event) ?? 0) + 1);
  const logger = { ...silentLogger, info: count, warn: count, child: () => logger } as unknown as Logger;
  return { logger, countOf: (event) => counts.get(event) ?? 0 };
}

async function openWith(s3: S3Settings, dataDir: string, clock: Clock, logger: Logger) {
  const { timeouts: _, ...settings } = s3;
  const assignment = { ...assignmentOf(dataDir), storage: { s3: settings as never } };
  const open = await openAssignment(assignment, clock, logger);
  return { open, store: workgroupStore(assignment.storage, 'acme')! };
}

test.skipIf(s3Missing)(
  'what is in the bucket is acknowledged, even if the collection fails or hangs',
  async () => {
    const s3 = await s3ForTests();
    let fate: Fate = 'pass';
    // The lists of a collection. A commit does not list.
    const endpoint = await startLossyProxy(s3.endpoint, ({ method, path }) =>
      method === 'GET' && /list-type=2.*commits/.test(path) ? fate : 'pass',
    );
    const clock = createAheadClock();
    const { logger, countOf } = countingLogger();
    const { open, store } = await openWith({ ...s3, endpoint }, tempDir(), clock, logger);
    onTestFinished(() => closeAssignment(open));
    await landMessages(open.shard, { count: 5, storeTimeMs: TEST_START_MS });
    await operations.commit(open, { isComplete: true });
    const acknowledge = async () => {
      const before = open.bucket!.state().sequence;
      open.snapshots.isWanted = true;
      await commitBeforeAnswer(open, 'send the same request again');
      expect(open.bucket!.state().sequence).toBe(before + 1);
    };
    for (fate of ['lose', 'hang'] as const) {
      clock.aheadMs += HOUR_MS + MINUTE_MS;
      await acknowledge();
      await acknowledge();
      if (fate === 'lose') await until('the failure is logged', () => countOf('bucket.not-collected') === 1);
    }
    fate = 'pass';
    await acknowledge();
    // It was due since it hung.
    await until('it was collected', () => countOf('bucket.collected') > 0);
    expect((await readReplicaHead(store))!.sequence).toBe(open.bucket!.state().sequence);
  },
);

test.skipIf(s3Missing)('owners that change within the hour collect too', async () => {
  const s3 = await s3ForTests();
  const dataDirs = [tempDir(), tempDir()];
  const clock = createAheadClock();
  const { logger, countOf } = countingLogger();
  for (const hand of [0, 1, 2]) {
    const { open } = await openWith(s3, dataDirs[hand % 2]!, clock, logger);
    await landMessages(open.shard, { count: 5, storeTimeMs: TEST_START_MS + hand * 10_000 });
    await operations.commit(open, { isComplete: true });
    if (hand === 2) await until('it was collected', () => countOf('bucket.collected') === 1);
    await closeAssignment(open);
    expect(countOf('bucket.collected')).toBe(hand === 2 ? 1 : 0);
    clock.aheadMs += 40 * MINUTE_MS;
  }
});
