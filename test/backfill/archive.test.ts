import { expect, test } from 'vitest';
import { operations } from '../../src/pipeline/operations.ts';
import { isSoak } from '../support/rounds.ts';
import {
  createTestClock,
  HOUR,
  openWorker,
  startUpstream,
  TEST_START_MS,
  total,
  upstreamOfNobody,
} from './backfill-fixture.ts';

const archive = { source: 'archive' as const, fromMs: TEST_START_MS, messagesPerSecond: 1_000_000 };
const other = { ...total, field: 'other_wh' };

test.runIf(isSoak)(
  'a field that is configured later is read from days that only the lake has, as if it had always been configured',
  async () => {
    const clock = createTestClock();
    const upstream = await startUpstream(clock);
    const worker = await openWorker(clock, { keepMessages: '1h' });
    const always = await openWorker(clock, { streams: [total, other] });
    await upstream.speakFor(HOUR / 2);
    for (const one of [worker, always]) {
      await one.poll(await upstream.address());
      await one.rollUp();
    }
    await clock.advance(3 * HOUR);
    await upstream.speakFor(HOUR / 4);
    for (const one of [worker, always]) {
      await one.poll(await upstream.address());
      await one.rollUp();
    }
    await operations.maintain(worker.open, { dryRun: false });
    // The first half hour is in the lake alone.
    expect(await worker.messages()).toMatchObject({ all: 180 });
    const before = await worker.energy();
    await worker.close();

    const both = await openWorker(clock, {
      dataDir: worker.dataDir,
      streams: [total, other],
      keepMessages: '1h',
    });
    await both.rollUp();
    const keptOnly = await both.energy();
    const plan = await both.jobs.plan(archive, upstreamOfNobody);
    expect(plan).toMatchObject({ messages: 360, requests: 0, days: ['2026-11-20'] });
    const outcome = await both.backfill(archive, upstreamOfNobody);
    expect(outcome).toMatchObject({ kind: 'done', messagesLanded: 360 });
    await both.rollUp();

    const energy = await both.energy();
    expect(energy).toEqual(await always.energy());
    expect(energy.filter(({ field }) => field === 'total_wh')).toEqual(before);
    expect(energy.length).toBeGreaterThan(keptOnly.length);

    // No message came twice: the lake has each once, and no reading is superseded. The messages that were
    // read again have left the warehouse.
    expect(await both.messages()).toMatchObject({ all: 180 });
    const [counts] = await both.rows(
      `SELECT (SELECT count(*) FROM superseded_reading)::INTEGER AS superseded, (SELECT count(*) FROM archived_message)::INTEGER AS archived,
       (SELECT count(*) FROM quarantine)::INTEGER AS quarantined,
       (SELECT count(*) FROM read_parquet('${both.dataDir}/lake/acme/current/messages/**/*.parquet', hive_partitioning = false))::INTEGER AS lake`,
    );
    expect(counts).toEqual({ superseded: 0, archived: 0, quarantined: 0, lake: 540 });
  },
);
