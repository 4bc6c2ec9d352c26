import { expect, test } from 'vitest';
import { createTestClock, HOUR, openWorker, startUpstream } from './support.ts';

const gaps = { source: 'gaps' as const, messagesPerSecond: 1_000_000 };

/** A worker that was away for longer than its upstream keeps messages, and a backup of the upstream that has them all. */
async function lostAnHour() {
  const clock = createTestClock();
  const upstream = await startUpstream(clock);
  const worker = await openWorker(clock);
  await upstream.speakFor(10 * 60_000);
  await worker.poll(await upstream.address());
  await upstream.speakFor(2 * HOUR);
  const backup = await upstream.copy();
  await worker.poll(await upstream.address());
  await worker.rollUp();
  return { clock, upstream, backup, worker };
}

test('a gap that a worker had to leave is listed, filled once from an upstream that has it, and closed', async () => {
  const { clock, upstream, backup, worker } = await lostAnHour();
  const uninterrupted = await openWorker(clock);
  await uninterrupted.poll(await backup.address());
  await uninterrupted.rollUp();
  const whole = await uninterrupted.messages();
  expect(whole).toEqual({ all: 2 * 780, distinct: 2 * 780 });
  expect(await worker.messages()).toEqual({ all: 2 * 421, distinct: 2 * 421 });

  expect(await worker.jobs.gaps(await upstream.address())).toMatchObject([
    { gapId: 1, reason: 'expired', available: 'nothing' },
  ]);
  expect(await worker.jobs.gaps(await backup.address())).toMatchObject([
    { gapId: 1, available: 'all', note: undefined },
  ]);
  const outcome = await worker.backfill(gaps, await backup.address());
  expect(outcome).toMatchObject({ kind: 'done', messagesLanded: 2 * 359, gapsFilled: [1], notes: [] });
  await worker.rollUp();
  expect(await worker.messages()).toEqual(whole);
  expect(await worker.energy()).toEqual(await uninterrupted.energy());
  expect((await worker.open.shard.status()).gaps).toBe(0);
  expect(await worker.jobs.gaps(await backup.address())).toEqual([]);
});
