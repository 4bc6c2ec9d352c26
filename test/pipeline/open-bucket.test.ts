// @module-tag slow
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { createAudit } from '../../src/audit/audit.ts';
import { type Logger, silentLogger } from '../../src/lib/logger.ts';
import { systemClock } from '../../src/lib/time.ts';
import type { Assignment } from '../../src/pipeline/assignment.ts';
import { closeAssignment, openAssignment } from '../../src/pipeline/open-assignment.ts';
import { operations } from '../../src/pipeline/operations.ts';
import { createPipeline } from '../../src/pipeline/pipeline.ts';
import { readReplicaHead } from '../../src/replica/replica-commit.ts';
import { workgroupStore } from '../../src/storage/workgroup-store.ts';
import { landMessages } from '../publish/publish-fixture.ts';
import { slowReads } from '../snapshot/snapshot-fixture.ts';
import { type Fate, startLossyProxy } from '../support/lossy-proxy.ts';
import { isSoak } from '../support/rounds.ts';
import { s3ForTests, s3Missing } from '../support/s3-for-tests.ts';
import { tempDir } from '../support/temp-dir.ts';
import { TEST_START_MS } from '../support/test-clock.ts';
import { until } from '../support/until.ts';
import { assignmentOf } from './answers.ts';

/** Opens workgroups with their state in one bucket. @param endpointOf changes its address, for a proxy */
async function bucketForTest(endpointOf = async (endpoint: string) => endpoint) {
  const { timeouts: _, ...s3 } = await s3ForTests();
  const endpoint = await endpointOf(s3.endpoint);
  const assignmentIn = (dataDir: string): Assignment => ({
    ...assignmentOf(dataDir),
    storage: { s3: { ...s3, endpoint } as never },
  });
  return {
    assignmentIn,
    store: workgroupStore(assignmentIn('').storage!, 'acme')!,
    open: (dataDir: string, logger: Logger = silentLogger) =>
      openAssignment(assignmentIn(dataDir), systemClock, logger),
  };
}

type TestBucket = Awaited<ReturnType<typeof bucketForTest>>;

/** Fills a bucket with some commits, and damages packs. */
async function damageAfter(
  commits: number,
  damaged: 'newest' | 'all',
  { store, open }: TestBucket,
): Promise<void> {
  const a = await open(tempDir());
  for (let round = 1; round <= commits; round++) {
    await landMessages(a.shard, { count: 5, storeTimeMs: TEST_START_MS + round * 10_000 });
    await operations.commit(a, { isComplete: true });
  }
  await closeAssignment(a);
  const { snapshot, generation } = (await readReplicaHead(store))!;
  for (const { key } of generation!.packs.filter(({ key }) => damaged === 'all' || key === snapshot!.pack)) {
    const bytes = (await store.get(key, { bytesMax: 100_000_000 }))!;
    bytes[100]! ^= 1;
    await store.put(key, { bytes });
  }
}

test.skipIf(!isSoak || s3Missing)('going back to an earlier commit is in the audit log', async () => {
  const bucket = await bucketForTest();
  await damageAfter(2, 'newest', bucket);
  const dataDir = tempDir();
  const b = await bucket.open(dataDir);
  onTestFinished(() => closeAssignment(b));
  expect(createAudit({ dataDir, actor: 'test', clock: systemClock }).waiting('acme')).toBe(1);
});

test.skipIf(s3Missing)(
  'a workgroup that cannot be opened is claimed once, not with each attempt',
  async () => {
    const bucket = await bucketForTest();
    await damageAfter(1, 'all', bucket);
    const before = (await readReplicaHead(bucket.store))!.sequence;
    const pipeline = createPipeline({ logLevel: 'silent', logger: silentLogger });
    onTestFinished(pipeline.close);
    const assignment = bucket.assignmentIn(tempDir());
    for (let attempt = 0; attempt < 5; attempt++)
      await expect(pipeline.open(assignment)).rejects.toMatchObject({ code: 'ObjectDamaged' });
    expect((await readReplicaHead(bucket.store))!.sequence).toBe(before + 1);
  },
);

test.skipIf(s3Missing)(
  'a bucket that does not answer delays no publication, and gets everything later',
  async () => {
    const answers = Promise.withResolvers<Fate>();
    let [isAway, heldPuts] = [false, 0];
    const fateOf = ({ method }: { method: string }) => {
      if (method !== 'PUT' || !isAway) return 'pass';
      heldPuts += 1;
      return answers.promise;
    };
    const { store, open } = await bucketForTest((endpoint) => startLossyProxy(endpoint, fateOf));
    const a = await open(tempDir());
    onTestFinished(() => closeAssignment(a));
    const land = async (round: number) => {
      await landMessages(a.shard, { count: 5, storeTimeMs: TEST_START_MS + round * 10_000 });
      return operations.publish(a, undefined);
    };
    await land(1);
    isAway = true;
    let isCommitted = false;
    const committing = operations.commit(a, { isComplete: true }).finally(() => {
      isCommitted = true;
    });
    await until('the bucket is asked', () => heldPuts > 0);
    expect(await land(2)).toMatchObject({ kind: 'published' });
    expect([isCommitted, (await readReplicaHead(store))?.generation]).toEqual([false, null]);
    answers.resolve('pass');
    await committing;
    await operations.commit(a, { isComplete: false });
    expect((await readReplicaHead(store))?.totals.messages).toBe(10);
  },
);

test.skipIf(s3Missing)(
  'closing a workgroup publishes what has landed, so the bucket has all of it',
  async () => {
    const { store, open } = await bucketForTest();
    const a = await open(tempDir());
    await landMessages(a.shard, { count: 5, storeTimeMs: TEST_START_MS });
    await operations.commit(a, { isComplete: true });
    await landMessages(a.shard, { count: 5, storeTimeMs: TEST_START_MS + 10_000 });
    await closeAssignment(a);
    expect((await readReplicaHead(store))!.totals.messages).toBe(10);
  },
);

test.skipIf(!isSoak || s3Missing)(
  'closing a workgroup gives up a snapshot that takes too long, and the next owner commits it',
  async () => {
    const { store, open } = await bucketForTest();
    const dataDir = tempDir();
    const events: string[] = [];
    const note = (_fields: object, event: string) => void events.push(event);
    const a = await open(dataDir, { ...silentLogger, info: note, warn: note } as unknown as Logger);
    await landMessages(a.shard, { count: 5, storeTimeMs: TEST_START_MS });
    await operations.commit(a, { isComplete: true });
    // More than twice what the snapshot reads at once.
    await a.shard.transaction((connection) =>
      connection.run('CREATE TABLE extra AS SELECT hash(range) AS value FROM range(1_000_000)'),
    );
    await landMessages(a.shard, { count: 5, storeTimeMs: TEST_START_MS + 10_000 });
    const { readFrozen } = a.shard;
    let reads = 0;
    a.shard.readFrozen = slowReads({ ...a.shard, readFrozen }, async () => {
      reads += 1;
      // Longer than a worker waits for the bucket when it closes a workgroup.
      if (reads === 1) await sleep(5_000);
    }).readFrozen;
    events.length = 0;
    await closeAssignment(a);
    // The next blocks are read while the first ones are used.
    expect(reads).toBeLessThanOrEqual(2);
    expect(events).toContain('bucket.not-committed');
    expect(events).not.toContain('snapshot.taken');
    expect((await readReplicaHead(store))!.totals.messages).toBe(5);

    const b = await open(dataDir);
    onTestFinished(() => closeAssignment(b));
    await operations.commit(b, { isComplete: true });
    expect((await readReplicaHead(store))!.totals.messages).toBe(10);
  },
);
