import { existsSync, mkdirSync, readdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { energyStreamSchema } from '../../src/config/energy-stream.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from '../../src/lib/time.ts';
import { compactLake } from '../../src/publish/compact-lake.ts';
import { listSequences, readCommit, readCurrent } from '../../src/publish/lake-commit.ts';
import { fileKey } from '../../src/publish/lake-layout.ts';
import type { PublishableShard } from '../../src/publish/publishable-shard.ts';
import { keptSequences, retainLake } from '../../src/publish/retain-lake.ts';
import { trimWarehouse } from '../../src/publish/trim-warehouse.ts';
import { isSoak, rounds } from '../support/rounds.ts';
import { TEST_START_MS } from '../support/test-clock.ts';
import { openOwnFixture } from './own-fixture.ts';
import { publishAndRenew } from './publish-and-renew.ts';
import {
  addSeries,
  analyse,
  type Fixture,
  landMessages,
  markRolledUp,
  rows,
  storeDays,
} from './publish-fixture.ts';

const retain = ({ shard, lakeDir, clock }: Fixture, dryRun = false, by: PublishableShard = shard) =>
  retainLake(by, { lakeDir, keepGenerationsMs: DAY_MS, clock, logger: silentLogger, dryRun });

test('generations with views stay an hour, others two minutes, then one of each hour; the newest snapshot always stays', () => {
  const generation = fc.record({
    stepMs: fc.integer({ min: 1, max: 20 * MINUTE_MS }),
    hasViews: fc.boolean(),
    hasSnapshot: fc.boolean(),
  });
  fc.assert(
    fc.property(
      fc.array(generation, { minLength: 1, maxLength: 200 }),
      fc.integer({ min: 0, max: 2 * DAY_MS }),
      (steps, laterMs) => {
        let atMs = TEST_START_MS;
        const generations = steps.map(({ stepMs, ...facts }, index) => {
          atMs += stepMs;
          return { sequence: index + 1, createdAtMs: atMs, ...facts };
        });
        const nowMs = atMs + laterMs;
        const keep = keptSequences(generations, nowMs, DAY_MS);
        const hour = (ms: number) => Math.floor(ms / HOUR_MS);
        const newestSnapshot = generations.findLast(({ hasSnapshot }) => hasSnapshot);
        for (const [index, one] of generations.entries()) {
          const { sequence, createdAtMs, hasViews } = one;
          const next = generations[index + 1];
          const ageMs = next ? nowMs - next.createdAtMs : 0;
          const inHour = generations.filter((other) => hour(other.createdAtMs) === hour(createdAtMs));
          const chosen = [
            inHour.findLast((other) => other.hasViews) ?? inHour.at(-1),
            inHour.findLast((other) => other.hasSnapshot),
          ];
          const wanted =
            one === newestSnapshot ||
            ageMs <= (hasViews ? HOUR_MS : 2 * MINUTE_MS) ||
            (chosen.includes(one) && ageMs <= DAY_MS);
          expect(keep.has(sequence)).toBe(wanted);
        }
        // Thinning again takes nothing more.
        const kept = generations.filter(({ sequence }) => keep.has(sequence));
        expect([...keptSequences(kept, nowMs, DAY_MS)]).toEqual(kept.map(({ sequence }) => sequence));
      },
    ),
  );
});

test('old generations are deleted with the files that only they have', { tags: ['slow'] }, async () => {
  const at = await openOwnFixture({ startMs: Date.now() });
  const startMs = at.clock.now();
  for (let step = 0; step < 4; step++) {
    at.clock.set(startMs + step * SECOND_MS);
    await storeDays(at.shard, [{ day: '2026-11-20', device: 1, energyWh: step }]);
    await landMessages(at.shard, { count: 2, storeTimeMs: startMs + step * SECOND_MS });
    await at.publish();
    await at.renew();
  }
  at.clock.set(startMs + 2 * DAY_MS);
  const wanted = await retain(at, true);
  expect(wanted.generations).toEqual([1, 2, 3]);
  expect(wanted.files).toHaveLength(3);
  expect(wanted.orphans).toEqual([]);
  expect(await listSequences(at.paths)).toEqual([1, 2, 3, 4]);

  expect(await retain(at)).toEqual(wanted);
  expect(await listSequences(at.paths)).toEqual([4]);
  expect(readdirSync(at.paths.analytics)).toEqual(['000000000004.duckdb']);
  expect(await readCurrent(at.paths)).toBe(4);
  expect(filesBelow(at)).toEqual((await at.head()).files.map(fileKey).sort());
  expect(await at.analyse('SELECT count(*) FROM messages')).toEqual([[8n]]);
  expect(await retain(at)).toEqual({ generations: [], files: [], orphans: [] });
});

test.runIf(isSoak)('a new process, which reads the commits again, deletes the same', async () => {
  const at = await openOwnFixture({ startMs: Date.now() });
  const startMs = at.clock.now();
  const round = async (step: number) => {
    at.clock.set(startMs + step * 100 * SECOND_MS);
    await storeDays(at.shard, [{ day: '2026-11-20', device: 1, energyWh: step }]);
    await publishAndRenew(at.shard, { ...at, currentEveryMs: 3 * MINUTE_MS, logger: silentLogger });
  };
  // Every 100 seconds, so 8 rounds cover 13 minutes.
  for (let step = 0; step < rounds(8, 40); step++) {
    await round(step);
    const own = await retain(at, true);
    const other = await retain(at, true, { ...at.shard });
    expect({ ...other, files: other.files.sort() }).toEqual({ ...own, files: own.files.sort() });
    if (step % 5 === 4) await retain(at);
  }
  // Every commit that is left has its files, and people can use those with views.
  const named = new Set<string>();
  for (const sequence of await listSequences(at.paths)) {
    const commit = await readCommit(at.paths, sequence);
    for (const file of commit!.files) named.add(fileKey(file));
  }
  expect(filesBelow(at)).toEqual([...named].sort());
  for (const name of readdirSync(at.paths.analytics))
    expect(
      await analyse(join(at.paths.analytics, name), 'SELECT count(*)::INTEGER FROM daily_energy'),
    ).toEqual([[1]]);
});

test('the generation that was replaced just now stays, however old it is', { tags: ['slow'] }, async () => {
  const at = await openOwnFixture();
  await storeDays(at.shard, [{ day: '2026-11-20', device: 1, energyWh: 1 }]);
  await at.publish();
  at.clock.set(TEST_START_MS + 3 * DAY_MS);
  await storeDays(at.shard, [{ day: '2026-11-20', device: 1, energyWh: 2 }]);
  await at.publish();
  expect((await retain(at)).generations).toEqual([]);
  expect(await readCommit(at.paths, 1)).toBeDefined();
});

test('the generation of current stays, even if it is renewed rarely', { tags: ['slow'] }, async () => {
  const at = await openOwnFixture();
  for (let step = 0; step < 3; step++) {
    at.clock.set(TEST_START_MS + step * 6 * HOUR_MS);
    await storeDays(at.shard, [{ day: '2026-11-20', device: 1, energyWh: step }]);
    await publishAndRenew(at.shard, { ...at, currentEveryMs: DAY_MS, logger: silentLogger });
  }
  at.clock.set(at.clock.now() + 5 * MINUTE_MS);
  await retainLake(at.shard, { ...at, keepGenerationsMs: MINUTE_MS, logger: silentLogger });
  expect(await listSequences(at.paths)).toEqual([1, 3]);
  expect(
    await analyse(join(at.paths.current, 'analytics.duckdb'), 'SELECT energy_wh::INTEGER FROM daily_energy'),
  ).toEqual([[0]]);
});

test('files that crashes have left are deleted when no process can still use them', {
  tags: ['slow'],
}, async () => {
  const at = await openOwnFixture({ startMs: Date.now() });
  await landMessages(at.shard, { count: 2, storeTimeMs: at.clock.now() });
  await at.publish();
  await at.renew();
  await landMessages(at.shard, { count: 2, storeTimeMs: at.clock.now() + SECOND_MS });
  await at.publish();
  await at.renew();
  const left = [
    'staging/000000000002-0123456789abcdef.parquet',
    'files/messages/table=solar/hour=2026-11-20T12/000000000002-0123456789abcdef.parquet',
  ];
  for (const path of left) {
    mkdirSync(dirname(join(at.paths.root, path)), { recursive: true });
    writeFileSync(join(at.paths.root, path), '');
  }
  writeFileSync(join(at.paths.analytics, '000000000000.duckdb'), '');
  expect((await retain(at)).orphans).toContain('analytics/000000000000.duckdb');
  expect(readdirSync(at.paths.analytics)).toHaveLength(2);
  const hourAgo = (at.clock.now() - HOUR_MS) / 1000;
  for (const path of left) {
    expect(existsSync(join(at.paths.root, path))).toBe(true);
    utimesSync(join(at.paths.root, path), hourAgo, hourAgo);
  }
  // The folders are searched once an hour.
  expect((await retain(at)).orphans).toEqual(left.slice(0, 1));
  at.clock.set(at.clock.now() + HOUR_MS);
  // A dry run is not one of these searches.
  expect((await retain(at, true)).orphans).toEqual(left.slice(1));
  expect((await retain(at)).orphans).toEqual(left.slice(1));
  for (const path of left) expect(existsSync(join(at.paths.root, path))).toBe(false);
  // A clock that was set back does not put the next search off.
  writeFileSync(join(at.paths.root, left[1]!), '');
  utimesSync(join(at.paths.root, left[1]!), hourAgo, hourAgo);
  at.clock.set(at.clock.now() - SECOND_MS);
  expect((await retain(at)).orphans).toEqual(left.slice(1));
  expect(await at.analyse('SELECT count(*) FROM messages')).toEqual([[4n]]);
});

test.runIf(isSoak)('the number of entries in the lake stays flat over many publications', async () => {
  const at = await openOwnFixture({ startMs: Date.now() });
  const startMs = at.clock.now();
  const { shard, lakeDir, clock } = at;
  const options = { lakeDir, clock, logger: silentLogger };
  const counts: number[] = [];
  // Five or ten hours, with a publication every quarter of an hour or three minutes. Each third one gets
  // views.
  const [steps, everyMs] = [rounds(20, 200), rounds(15, 3) * MINUTE_MS];
  for (let step = 0; step < steps; step++) {
    clock.set(startMs + step * everyMs);
    await storeDays(shard, [{ day: '2026-11-20', device: 1, energyWh: step }]);
    await publishAndRenew(shard, { ...options, currentEveryMs: 3 * everyMs });
    await retainLake(shard, { ...options, keepGenerationsMs: 2 * HOUR_MS });
    if (step % (steps / 10) === steps / 10 - 1)
      counts.push(readdirSync(at.paths.root, { recursive: true }).length);
  }
  // After the two hours for which generations are kept, nothing grows any more.
  expect(Math.max(...counts.slice(4)) - Math.min(...counts.slice(4))).toBeLessThan(10);
  expect(counts.at(-1)).toBeLessThan(120);
});

test.runIf(isSoak)(
  'after the first hour the lake grows only by one generation an hour, also with a new file of messages in each publication',
  async () => {
    const at = await openOwnFixture({ startMs: Math.floor(Date.now() / HOUR_MS) * HOUR_MS });
    const startMs = at.clock.now();
    const { shard, lakeDir, clock } = at;
    const options = { lakeDir, clock, logger: silentLogger };
    const counts = new Map<number, number>();
    // In the soak a publication every minute, and views every six minutes, so there are six new files of
    // messages for each view.
    const [everyMinutes, minutes] = [rounds(5, 1), rounds(130, 250)];
    for (let minute = everyMinutes; minute <= minutes; minute += everyMinutes) {
      clock.set(startMs + minute * MINUTE_MS);
      await storeDays(shard, [{ day: '2026-11-20', device: 1, energyWh: minute }]);
      await landMessages(shard, { count: 2, storeTimeMs: clock.now() });
      await publishAndRenew(shard, {
        ...options,
        currentEveryMs: everyMinutes * 6 * MINUTE_MS,
        prepare: () => compactLake(shard, { ...options, newFilesMin: 2 }),
      });
      if (minute % 10 > 0) continue;
      await retainLake(shard, { ...options, keepGenerationsMs: DAY_MS });
      counts.set(minute, readdirSync(at.paths.root, { recursive: true }).length);
    }

    const [hour, end] = [counts.get(70)!, counts.get(minutes)!];
    // 103 and 122 in an hour, in the soak 151 and 204 in three hours. If only eight files are merged, each
    // generation with views keeps small files: then 115.
    expect(hour).toBeLessThan(rounds(109, 165));
    expect(end - hour).toBeLessThan(rounds(30, 60));
  },
);

test('only messages that are published, rolled up and old leave the warehouse', {
  tags: ['slow'],
}, async () => {
  const at = await openOwnFixture();
  const { shard, lakeDir, clock } = at;
  const trim = (dryRun = false) =>
    trimWarehouse(shard, { lakeDir, keepMessagesMs: 2 * HOUR_MS, clock, logger: silentLogger, dryRun });
  const left = () =>
    shard.transaction(async (connection) => (await rows(connection, 'SELECT count(*) FROM message'))[0]![0]);
  await addSeries(shard, 1, 1, 'inverter');

  await landMessages(shard, { count: 10, storeTimeMs: TEST_START_MS });
  clock.set(TEST_START_MS + 3 * HOUR_MS);
  expect(await trim()).toEqual({ messages: 0 });
  await at.publish();
  expect(await trim()).toEqual({ messages: 0 });
  await markRolledUp(shard);
  await landMessages(shard, { count: 5, storeTimeMs: TEST_START_MS + 3 * HOUR_MS });
  await markRolledUp(shard);
  expect(await trim(true)).toEqual({ messages: 10 });
  expect(await left()).toBe(15n);
  expect(await trim()).toEqual({ messages: 10 });
  expect(await left()).toBe(5n);

  clock.set(TEST_START_MS + 6 * HOUR_MS);
  expect(await trim()).toEqual({ messages: 0 });
  await at.publish();
  expect(await trim()).toEqual({ messages: 5 });
  expect((await at.head()).totals.messages).toBe(15);
  expect(await at.analyse('SELECT count(*) FROM messages')).toEqual([[15n]]);
  expect(readFileSync(join(at.paths.current, 'commit.json'), 'utf8')).toContain('"messages":15');
});

test('no message leaves the warehouse before it is rolled up for the first time', {
  tags: ['slow'],
}, async () => {
  const at = await openOwnFixture();
  const { shard, lakeDir, clock } = at;
  const stream = energyStreamSchema.parse({
    table: 'solar',
    field: 'total_wh',
    method: 'total_energy',
    unit: 'Wh',
  });
  const trim = (energyStreams: Array<typeof stream>) =>
    trimWarehouse(shard, {
      lakeDir,
      keepMessagesMs: HOUR_MS,
      declared: { energyStreams },
      clock,
      logger: silentLogger,
    });
  await landMessages(shard, { count: 10, storeTimeMs: TEST_START_MS });
  await at.publish();
  clock.set(TEST_START_MS + 3 * HOUR_MS);
  expect(await trim([stream])).toEqual({ messages: 0 });
  expect(await trim([])).toEqual({ messages: 10 });
});

test('rejected readings are deleted after 90 days in warehouse and lake, and quarantined messages stay', {
  tags: ['slow'],
}, async () => {
  const opened = await openOwnFixture();
  const { shard, publish, analyse, clock, lakeDir } = opened;
  await landMessages(shard, { count: 1, storeTimeMs: TEST_START_MS });
  await markRolledUp(shard);
  const dayMs = Math.floor(TEST_START_MS / DAY_MS) * DAY_MS;
  await shard.transaction(async (connection) => {
    for (const days of [0, 30])
      await connection.run(
        `INSERT INTO rejected_reading VALUES (${dayMs + days * DAY_MS}, 0, uuid(), 'roof', 'wh', 'negative', 5, 0, 0, [])`,
      );
    await connection.run(
      `INSERT INTO dirty_partition SELECT 'rejected_reading', strftime(make_timestamp(day_start_ms * 1000), '%Y-%m-%d') FROM rejected_reading`,
    );
    await connection.run(
      `INSERT INTO quarantine (batch_id, stage, reason, bytes, quarantined_at_ms) SELECT max(batch_id), 'land', 'not_a_map', '\x01'::BLOB, ${TEST_START_MS} FROM batch`,
    );
  });
  await publish();
  expect(await analyse('SELECT readings::INTEGER, import_id FROM rejected_reading')).toEqual([
    [5, null],
    [5, null],
  ]);
  clock.set(TEST_START_MS + 100 * DAY_MS);
  await trimWarehouse(shard, { lakeDir, keepMessagesMs: DAY_MS, clock, logger: silentLogger });
  await publish();
  expect(await analyse('SELECT sum(readings)::INTEGER FROM rejected_reading')).toEqual([[5]]);
  expect(await analyse('SELECT count(*)::INTEGER FROM quarantine')).toEqual([[1]]);
});

/** The keys of all files of the lake. */
function filesBelow({ paths }: Fixture): string[] {
  return readdirSync(paths.files, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(paths.root, join(entry.parentPath, entry.name)))
    .sort();
}
