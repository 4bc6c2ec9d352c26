// @module-tag slow
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { withoutQuarantined } from '../../src/backfill/skip-landed.ts';
import { encodeMessages } from '../../src/contract/encode-messages.ts';
import { isSoak } from '../support/rounds.ts';
import { tempDir } from '../support/temp-dir.ts';
import {
  createTestClock,
  DEVICES,
  HOUR,
  openWorker,
  startUpstream,
  TEST_START_MS,
} from './backfill-fixture.ts';

const request = { source: 'stream' as const, fromMs: TEST_START_MS, messagesPerSecond: 1_000_000 };
const SPOKEN = 360;

/** A worker that has passed over half an hour, because it was to read another table only. */
async function passedOver(dataDir = tempDir()) {
  const clock = createTestClock();
  const upstream = await startUpstream(clock);
  const worker = await openWorker(clock, { dataDir });
  await upstream.speakFor(HOUR / 2);
  await worker.poll({ ...(await upstream.address()), table: 'wind' });
  expect(await worker.messages()).toEqual({ all: 0, distinct: 0 });
  return { clock, upstream, worker };
}

test('a backfill reads a gap while the live reader continues, and every message lands once', async () => {
  const { clock, upstream, worker } = await passedOver();
  // Half an hour in pieces of ten minutes, each of which the upstream has counted.
  const plan = await worker.jobs.plan(request, await upstream.address());
  const counts = plan.pieces.map(({ messagesExpected }) => messagesExpected!);
  expect(counts.length).toBeGreaterThan(2);
  expect([plan.messages, counts.reduce((sum, count) => sum + count, 0)]).toEqual([SPOKEN, SPOKEN]);
  expect(Math.max(...counts)).toBeLessThan(SPOKEN);
  let rounds = 0;
  const outcome = await worker.backfill(request, await upstream.address(), async () => {
    await upstream.speakFor(10_000);
    await worker.poll(await upstream.address());
    rounds++;
  });
  expect(rounds).toBeGreaterThan(0);
  expect(outcome).toMatchObject({ kind: 'done', messagesLanded: SPOKEN, notes: [] });
  const all = SPOKEN + rounds * 2;
  expect(await worker.messages()).toEqual({ all, distinct: all });

  // The same request again is another backfill, which finds nothing new.
  const again = await worker.backfill(request, await upstream.address());
  expect(again).toMatchObject({ kind: 'done', messagesLanded: 0, resumed: false });
  expect(again.messagesRead).toBeGreaterThanOrEqual(all);
  expect(await worker.messages()).toEqual({ all, distinct: all });
  await worker.rollUp();

  const uninterrupted = await openWorker(clock);
  await uninterrupted.poll(await upstream.address());
  await uninterrupted.rollUp();
  expect(await worker.energy()).toEqual(await uninterrupted.energy());
  expect(await worker.jobs.list()).toMatchObject([
    { backfillId: 2, state: 'done', messagesLanded: 0 },
    { backfillId: 1, state: 'done', messagesLanded: SPOKEN },
  ]);
});

test.runIf(isSoak)('messages that only the lake still has do not land again', async () => {
  const { upstream, worker } = await passedOver();
  await worker.backfill(request, await upstream.address());
  await worker.rollUp();
  await worker.open.shard.transaction((connection) =>
    connection.run('DELETE FROM message').then(() => undefined),
  );
  expect(await worker.backfill(request, await upstream.address())).toMatchObject({ messagesLanded: 0 });
  expect(await worker.messages()).toEqual({ all: 0, distinct: 0 });
});

test('a cancelled backfill ends before its next piece and keeps what has landed; a stopped one is continued by the same request', async () => {
  const { upstream, worker } = await passedOver();
  const address = await upstream.address();
  const slow = { ...request, messagesPerSecond: 200 };
  const cancelled = await worker.backfill(slow, address, async () => {
    const state = await worker.jobs.state();
    if (state.kind === 'running' && state.progress.messagesLanded > 0)
      await worker.jobs.cancel(state.progress.backfillId!).catch(() => undefined);
  });
  expect(cancelled.kind).toBe('cancelled');
  expect(cancelled.messagesLanded).toBeGreaterThan(0);
  expect(cancelled.messagesLanded).toBeLessThan(SPOKEN);
  await expect(worker.jobs.cancel(cancelled.backfillId)).rejects.toThrow('has already ended (cancelled)');
  await expect(worker.jobs.cancel(99)).rejects.toThrow('there is no backfill 99');
  expect(await worker.rows(`SELECT origin FROM checkpoint WHERE origin <> 'stream'`)).toEqual([]);

  const stopped = worker.backfill(slow, address, async () => {
    const state = await worker.jobs.state();
    if (state.kind === 'running' && state.progress.messagesLanded > 0) await worker.jobs.stop();
  });
  await expect(stopped).rejects.toThrow('run the same command again to continue');
  const resumed = await worker.backfill(request, address);
  expect(resumed).toMatchObject({ kind: 'done', backfillId: 2, resumed: true });
  expect(resumed.messagesLanded + cancelled.messagesLanded).toBe(SPOKEN);
  expect(await worker.messages()).toEqual({ all: SPOKEN, distinct: SPOKEN });
});

test('a backfill lands the messages of its period only, and a stopped one that is cancelled keeps no position', async () => {
  const { upstream, worker } = await passedOver();
  const address = await upstream.address();
  const period = { ...request, fromMs: TEST_START_MS + 60_000, toMs: TEST_START_MS + 120_000 };
  // Two devices send every ten seconds.
  expect(await worker.backfill(period, address)).toMatchObject({ messagesRead: 12, messagesLanded: 12 });
  const [times] = await worker.rows(
    `SELECT min(store_time_ms - ${TEST_START_MS})::INTEGER AS first, max(store_time_ms - ${TEST_START_MS})::INTEGER AS last FROM message`,
  );
  expect(times).toEqual({ first: 60_000, last: 110_000 });

  const stopped = worker.backfill({ ...request, messagesPerSecond: 50 }, address, async () => {
    const state = await worker.jobs.state();
    if (state.kind === 'running' && state.progress.messagesLanded > 0) await worker.jobs.stop();
  });
  await expect(stopped).rejects.toThrow('run the same command again to continue');
  const positions = () => worker.rows(`SELECT origin FROM checkpoint WHERE origin <> 'stream'`);
  expect(await positions()).not.toEqual([]);
  await worker.jobs.cancel(2);
  expect(await positions()).toEqual([]);
});

test('a stopped backfill does not continue in another log, although the live reader has read from it', async () => {
  const { clock, upstream, worker } = await passedOver();
  const slow = { ...request, messagesPerSecond: 50 };
  const stopped = worker.backfill(slow, await upstream.address(), async () => {
    const state = await worker.jobs.state();
    if (state.kind === 'running' && state.progress.messagesLanded > 0) await worker.jobs.stop();
  });
  await expect(stopped).rejects.toThrow('run the same command again to continue');
  const landed = await worker.messages();
  const other = await startUpstream(clock);
  await other.speakFor(60_000);
  await worker.poll({ ...(await other.address()), table: 'wind' });
  await expect(worker.backfill(request, await other.address())).rejects.toThrow(
    'the upstream has another log than when this backfill began: "wattline backfill cancel 1"',
  );
  expect(await worker.messages()).toEqual(landed);
});

test.runIf(isSoak)(
  'a backfill that is killed at any moment continues and lands every message once',
  async () => {
    const dataDir = tempDir();
    const { clock, upstream, worker } = await passedOver(dataDir);
    await worker.close();
    for (const landedMin of [1, 100]) {
      const child = fork(
        join(import.meta.dirname, 'backfill-child.ts'),
        [dataDir, String(clock.now()), JSON.stringify(await upstream.address())],
        { stdio: 'inherit', execArgv: [] },
      );
      onTestFinished(() => void child.kill('SIGKILL'));
      child.on('message', (landed: number) => landed >= landedMin && child.kill('SIGKILL'));
      expect((await once(child, 'exit'))[1]).toBe('SIGKILL');
    }
    const after = await openWorker(clock, { dataDir });
    const outcome = await after.backfill(request, await upstream.address());
    expect(outcome).toMatchObject({ kind: 'done', backfillId: 1, resumed: true, messagesLanded: SPOKEN });
    expect(await after.messages()).toEqual({ all: SPOKEN, distinct: SPOKEN });
  },
);

test('if the upstream has deleted some of the messages, the others are read and the reason is reported', async () => {
  const { clock, upstream, worker } = await passedOver();
  await clock.advance(HOUR - 10 * 60_000);
  const outcome = await worker.backfill(request, await upstream.address());
  expect(outcome.messagesLanded).toBeLessThan(SPOKEN);
  expect(outcome.messagesLanded).toBeGreaterThan(0);
  expect(outcome.notes).toEqual([expect.stringContaining('no longer has messages before 2026-11-20T12:')]);
  const fresh = await openWorker(clock);
  await expect(fresh.jobs.plan(request, await upstream.address())).rejects.toThrow('start the worker');
});

test('a message that is in quarantine does not go there again', async () => {
  const clock = createTestClock();
  const upstream = await startUpstream(clock);
  const worker = await openWorker(clock);
  const broken = { device: DEVICES[0]!, event_time: Number.NaN, data: { total_wh: 1 } };
  await upstream.log.append(encodeMessages([broken], 'solar'));
  await worker.poll(await upstream.address());
  const kept = () => worker.rows('SELECT stream_offset::VARCHAR AS "offset" FROM quarantine');
  const before = await kept();
  expect(before).toHaveLength(1);
  await worker.backfill(request, await upstream.address());
  expect(await kept()).toEqual(before);

  // A message without an offset is known by its bytes.
  const { shard } = worker.open;
  await shard.transaction(async (connection) => {
    await connection.run(
      `INSERT INTO quarantine SELECT * REPLACE (NULL AS stream_offset, 'abc'::BLOB AS bytes) FROM quarantine`,
    );
  });
  const rejected = (offset: bigint | undefined, text: string) => ({
    offset,
    reason: 'broken',
    detail: '',
    bytes: Buffer.from(text),
  });
  const known = [rejected(BigInt(before[0]!.offset as string), 'abc'), rejected(undefined, 'abc')];
  const fresh = [rejected(1n, 'abc'), rejected(undefined, 'abd')];
  expect(await withoutQuarantined(shard, [...known, ...fresh])).toEqual(fresh);
});
