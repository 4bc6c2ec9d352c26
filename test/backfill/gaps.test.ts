// @module-tag slow
import { expect, test } from 'vitest';
import type { Config } from '../../src/config/config.ts';
import { queryLake } from '../support/service-process.ts';
import { createTestClock, HOUR, openWorker, startUpstream, upstreamOfNobody } from './backfill-fixture.ts';

const gaps = { source: 'gaps' as const, messagesPerSecond: 1_000_000 };

/**
 * A worker that was away for longer than its upstream keeps messages, and a backup of the upstream that has
 * them all.
 */
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

test('an open gap is listed, is filled once from an upstream that has its messages, and is closed', async () => {
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
  // An upstream without these messages cannot fill the gap. The gap stays, with the reason.
  const vain = await worker.backfill(gaps, await upstream.address());
  expect(vain).toMatchObject({ kind: 'done', messagesLanded: 0, gapsFilled: [] });
  expect(vain.notes).toEqual([
    expect.stringContaining('gap 1: the upstream no longer has any message of that time'),
  ]);
  expect(await worker.rows('SELECT note IS NOT NULL AS said, closed_at_ms FROM gap')).toEqual([
    { said: true, closed_at_ms: null },
  ]);
  const unreachable = await worker.jobs.gaps(upstreamOfNobody);
  expect(unreachable).toMatchObject([
    { available: 'unknown', note: expect.stringContaining('cannot be reached') },
  ]);

  const outcome = await worker.backfill(gaps, await backup.address());
  expect(outcome).toMatchObject({ kind: 'done', messagesLanded: 2 * 359, gapsFilled: [1], notes: [] });
  await worker.rollUp();
  expect(await worker.messages()).toEqual(whole);
  expect(await worker.energy()).toEqual(await uninterrupted.energy());
  expect((await worker.open.shard.status()).gaps).toBe(0);
  const config = { dataDir: worker.dataDir } as Config;
  expect(
    await queryLake(config, 'acme', 'SELECT reason, closed_at IS NOT NULL AS is_closed, note FROM gap'),
  ).toEqual([{ reason: 'expired', is_closed: true, note: null }]);
  expect(await worker.jobs.gaps(await backup.address())).toEqual([]);
});
