import { existsSync, mkdirSync, readdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, onTestFinished, test } from 'vitest';
import { energyStreamSchema } from '../../src/config/energy-stream.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from '../../src/lib/time.ts';
import { listSequences, readCommit, readCurrent } from '../../src/publish/lake-commit.ts';
import { generationPath } from '../../src/publish/lake-layout.ts';
import { keptSequences, retainLake } from '../../src/publish/retain-lake.ts';
import { trimWarehouse } from '../../src/publish/trim-warehouse.ts';
import { tempDir } from '../support/temp-dir.ts';
import { createTestClock, TEST_START_MS } from '../support/test-clock.ts';
import {
  addSeries,
  type Fixture,
  landMessages,
  markRolledUp,
  openFixture,
  rows,
  storeDays,
  WORKGROUP,
} from './support.ts';

async function fixture(startMs = TEST_START_MS): Promise<Fixture> {
  const opened = await openFixture(tempDir(), createTestClock(startMs));
  onTestFinished(() => opened.shard.close());
  return opened;
}

const retain = ({ lakeDir, clock }: Fixture, dryRun = false) =>
  retainLake({
    lakeDir,
    workgroupId: WORKGROUP,
    keepGenerationsMs: DAY_MS,
    clock,
    logger: silentLogger,
    dryRun,
  });

test('every generation stays a quarter of an hour, then one a quarter until it is old', () => {
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: 1, max: 40 * MINUTE_MS }), { minLength: 1, maxLength: 200 }),
      fc.integer({ min: 0, max: 2 * DAY_MS }),
      (stepsMs, laterMs) => {
        let atMs = TEST_START_MS;
        const commits = stepsMs.map((stepMs, index) => {
          atMs += stepMs;
          return { sequence: index + 1, createdAtMs: atMs };
        });
        const nowMs = atMs + laterMs;
        const keep = keptSequences(commits, nowMs, DAY_MS);
        for (const [index, { sequence, createdAtMs }] of commits.entries()) {
          const next = commits[index + 1];
          // The newest, and whatever was the newest a quarter of an hour ago or later.
          if (!next || next.createdAtMs >= nowMs - 15 * MINUTE_MS) expect(keep).toContain(sequence);
          else if (next.createdAtMs < nowMs - DAY_MS) expect(keep).not.toContain(sequence);
          else {
            const quarter = (ms: number) => Math.floor(ms / (15 * MINUTE_MS));
            const inQuarter = commits.filter((one) => quarter(one.createdAtMs) === quarter(createdAtMs));
            if (inQuarter.at(-1)!.sequence === sequence) expect(keep).toContain(sequence);
            else expect(keep).not.toContain(sequence);
          }
        }
        // Thinning again takes nothing more.
        const kept = commits.filter(({ sequence }) => keep.has(sequence));
        expect([...keptSequences(kept, nowMs, DAY_MS)]).toEqual(kept.map(({ sequence }) => sequence));
      },
    ),
  );
});

test('old generations are moved to the trash, and no file of a remaining generation is', async () => {
  const at = await fixture(Date.now());
  const startMs = at.clock.now();
  for (let step = 0; step < 4; step++) {
    at.clock.set(startMs + step * SECOND_MS);
    await storeDays(at.shard, [{ day: '2026-11-20', device: 1, energyWh: step }]);
    await landMessages(at.shard, { count: 2, storeTimeMs: startMs + step * SECOND_MS });
    await at.publish();
  }
  at.clock.set(startMs + 2 * DAY_MS);
  const wanted = await retain(at, true);
  expect(wanted.generations).toEqual([1, 2, 3]);
  expect(wanted.orphans).toHaveLength(3);
  expect(await listSequences(at.paths)).toEqual([1, 2, 3, 4]);

  expect(await retain(at)).toEqual(wanted);
  expect(await listSequences(at.paths)).toEqual([4]);
  expect(readdirSync(at.paths.generations)).toEqual(['000000000004']);
  expect(await readCurrent(at.paths)).toBe(4);
  for (const { dataset, name } of (await at.head()).files)
    expect(existsSync(join(at.paths.files, dataset, name))).toBe(true);
  expect(await at.analyse('SELECT count(*) FROM messages')).toEqual([[8n]]);
  expect(readdirSync(at.paths.trash)).toHaveLength(9);

  at.clock.set(startMs + 2 * DAY_MS + 59 * MINUTE_MS);
  expect((await retain(at)).trash).toEqual([]);
  at.clock.set(startMs + 2 * DAY_MS + 60 * MINUTE_MS);
  expect((await retain(at)).trash).toHaveLength(9);
  expect(readdirSync(at.paths.trash)).toEqual([]);
  expect(await retain(at)).toEqual({ generations: [], orphans: [], trash: [] });
});

test('the generation that was replaced just now stays, however old it is', async () => {
  const at = await fixture();
  await storeDays(at.shard, [{ day: '2026-11-20', device: 1, energyWh: 1 }]);
  await at.publish();
  at.clock.set(TEST_START_MS + 3 * DAY_MS);
  await storeDays(at.shard, [{ day: '2026-11-20', device: 1, energyWh: 2 }]);
  await at.publish();
  expect((await retain(at)).generations).toEqual([]);
  expect(await readCommit(at.paths, 1)).toBeDefined();
});

test('files that crashes have left are deleted when no process can still use them', async () => {
  const at = await fixture(Date.now());
  await landMessages(at.shard, { count: 2, storeTimeMs: at.clock.now() });
  await at.publish();
  await landMessages(at.shard, { count: 2, storeTimeMs: at.clock.now() + SECOND_MS });
  await at.publish();
  const left = [
    'files/messages/000000000002-0123456789abcdef.parquet',
    'staging/000000000002-0123456789abcdef.parquet',
  ];
  for (const path of left) writeFileSync(join(at.paths.root, path), '');
  mkdirSync(generationPath(at.paths, 0));
  expect((await retain(at)).orphans).toEqual(['generations/000000000000']);
  for (const path of left) {
    expect(existsSync(join(at.paths.root, path))).toBe(true);
    const hourAgo = (at.clock.now() - HOUR_MS) / 1000;
    utimesSync(join(at.paths.root, path), hourAgo, hourAgo);
  }
  expect((await retain(at)).orphans).toEqual(left);
  for (const path of left) expect(existsSync(join(at.paths.root, path))).toBe(false);
  expect(await at.analyse('SELECT count(*) FROM messages')).toEqual([[4n]]);
});

test('only messages that are published, rolled up and old leave the warehouse', async () => {
  const at = await fixture();
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

test('no message leaves the warehouse before it is rolled up for the first time', async () => {
  const at = await fixture();
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

test('rejected readings are deleted after 90 days in warehouse and lake, and quarantined messages stay', async () => {
  const opened = await fixture();
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
  expect(await analyse('SELECT sum(readings)::INTEGER FROM rejected_reading')).toEqual([[10]]);
  clock.set(TEST_START_MS + 100 * DAY_MS);
  await trimWarehouse(shard, { lakeDir, keepMessagesMs: DAY_MS, clock, logger: silentLogger });
  await publish();
  expect(await analyse('SELECT sum(readings)::INTEGER FROM rejected_reading')).toEqual([[5]]);
  expect(await analyse('SELECT count(*)::INTEGER FROM quarantine')).toEqual([[1]]);
});
