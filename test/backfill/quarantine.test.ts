import { expect, test } from 'vitest';
import { countQuarantined, everyMessage } from '../../src/backfill/from-quarantine.ts';
import { encodeCbor } from '../../src/cbor/cbor-codec.ts';
import { operations } from '../../src/pipeline/operations.ts';
import { rawAnswer } from '../pipeline/answers.ts';
import { queryLake } from '../support/service-process.ts';
import { tempDir } from '../support/temp-dir.ts';
import { batchOf, columnsOf, messagesFrom } from '../warehouse/batches.ts';
import { openTestShard } from '../warehouse/warehouse-fixture.ts';
import {
  createTestClock,
  DEVICES,
  HOUR,
  openWorker,
  TEST_START_MS,
  upstreamOfNobody,
  type Worker,
} from './backfill-fixture.ts';

const archive = { source: 'archive' as const, fromMs: TEST_START_MS, messagesPerSecond: 1_000_000 };

/** A message of an upstream that has one table only, and so does not name it. */
function reading(index: number) {
  const atMs = TEST_START_MS + index * 60_000;
  const data = { total_wh: 1_000 + index * 10 };
  return {
    offset: 100 + index,
    device: DEVICES[0],
    source: 'roof',
    event_time: atMs,
    store_time: atMs,
    data,
  };
}

/** Lands two answers: one in CBOR with a message that nobody can read, one in JSON. */
async function landTableless(worker: Worker): Promise<void> {
  const readings = Array.from({ length: 40 }, (_, index) => reading(index));
  const broken = { ...reading(20), offset: 120, event_time: 'yesterday' };
  const answers = [
    rawAnswer(
      encodeCbor({ nextOffset: 121, epoch: 'one', messages: [...readings.slice(0, 20), broken] }),
      'application/cbor',
    ),
    rawAnswer(
      JSON.stringify({ nextOffset: 140, epoch: 'one', messages: readings.slice(21) }),
      'application/json',
    ),
  ];
  for (const answer of answers) {
    const { ask } = await operations.position(worker.open, undefined);
    expect(await operations.land(worker.open, { ask, answer })).toMatchObject({ kind: 'delivered' });
  }
  await worker.rollUp();
}

test('a backfill from the quarantine decodes messages again, lands them once and removes them from the quarantine', {
  tags: ['slow'],
}, async () => {
  const clock = createTestClock();
  await clock.advance(HOUR);
  const worker = await openWorker(clock);
  await landTableless(worker);
  expect(await worker.messages()).toMatchObject({ all: 0 });
  expect(await worker.jobs.plan(archive, upstreamOfNobody)).toMatchObject({
    messages: 0,
    quarantined: { kept: 40, readable: 0 },
  });
  await worker.close();

  const always = await openWorker(clock, { table: 'solar' });
  await landTableless(always);
  const now = await openWorker(clock, { dataDir: worker.dataDir, table: 'solar' });
  const plan = await now.jobs.plan(archive, upstreamOfNobody);
  expect(plan).toMatchObject({ messages: 39, quarantined: { kept: 40, readable: 39 }, notes: [] });
  // Only what was asked for: the first ten minutes.
  const first = { ...archive, toMs: TEST_START_MS + 600_000 };
  expect(await now.backfill(first, upstreamOfNobody)).toMatchObject({ messagesLanded: 10 });
  expect(await now.backfill(archive, upstreamOfNobody)).toMatchObject({
    messagesRead: 29,
    messagesLanded: 29,
  });
  await now.rollUp();
  expect(await now.messages()).toEqual({ all: 39, distinct: 39 });
  expect(await now.energy()).toEqual(await always.energy());
  expect(await now.rows('SELECT stream_offset::INTEGER AS at FROM quarantine')).toEqual([{ at: 120 }]);
  expect(await queryLake(now.config, 'acme', 'SELECT stream_offset::INTEGER AS at FROM quarantine')).toEqual([
    { at: 120 },
  ]);
  expect(await now.rows(`SELECT origin FROM checkpoint WHERE origin <> 'stream'`)).toEqual([]);
  expect(await now.backfill(archive, upstreamOfNobody)).toMatchObject({ messagesLanded: 0 });
  expect(await now.jobs.list()).toMatchObject([
    { messagesLanded: 0 },
    { messagesLanded: 29 },
    { messagesLanded: 10 },
  ]);
});

test('after a crash between landing quarantined messages and removing them, nothing lands twice', {
  tags: ['slow'],
}, async () => {
  const clock = createTestClock();
  await clock.advance(HOUR);
  const worker = await openWorker(clock);
  await landTableless(worker);
  await worker.close();
  const now = await openWorker(clock, { dataDir: worker.dataDir, table: 'solar' });
  const kept = await now.rows('SELECT * FROM quarantine');
  expect(kept).toHaveLength(40);
  await now.open.shard.transaction(async (connection) => {
    await connection.run('CREATE TABLE kept AS SELECT * FROM quarantine');
  });
  await now.backfill(archive, upstreamOfNobody);
  await now.open.shard.transaction(async (connection) => {
    await connection.run('DELETE FROM quarantine');
    await connection.run('INSERT INTO quarantine SELECT * FROM kept');
  });
  expect(await now.backfill(archive, upstreamOfNobody)).toMatchObject({
    messagesRead: 39,
    messagesLanded: 0,
  });
  expect(await now.messages()).toEqual({ all: 39, distinct: 39 });
  expect(await now.rows('SELECT count(*)::INTEGER AS n FROM quarantine')).toEqual([{ n: 1 }]);
});

test('quarantined messages are read again by themselves, without reading the archive', {
  tags: ['slow'],
}, async () => {
  const clock = createTestClock();
  await clock.advance(HOUR);
  const worker = await openWorker(clock);
  await landTableless(worker);
  await worker.close();
  const now = await openWorker(clock, { dataDir: worker.dataDir, table: 'solar' });
  const request = { source: 'quarantine' as const, messagesPerSecond: 1_000_000 };
  expect(await now.jobs.plan(request, upstreamOfNobody)).toMatchObject({
    pieces: [],
    messages: 39,
    quarantined: { kept: 40, readable: 39 },
    notes: [],
  });
  expect(await now.backfill(request, upstreamOfNobody)).toMatchObject({ messagesLanded: 39 });
  expect(await now.messages()).toEqual({ all: 39, distinct: 39 });
  expect(await now.jobs.plan(request, upstreamOfNobody)).toMatchObject({
    messages: 0,
    notes: ['no quarantined message can be decoded now'],
  });
  expect(await now.jobs.list()).toMatchObject([{ source: 'quarantine', state: 'done' }]);
});

test('messages of more tables than allowed go to the quarantine, other messages land, and a higher limit lets them land too', {
  tags: ['slow'],
}, async () => {
  const clock = createTestClock();
  await clock.advance(HOUR);
  const worker = await openWorker(clock, { limits: { tablesPerWorkgroup: 2 } });
  // The table of the configured energy stream comes last, and has a place in any case.
  const tables = ['t1', 't2', 't3', 't1', 't4', 'solar', 't2'];
  const landInto = async (to: Worker, from: number, inOrder = tables) => {
    const messages = inOrder.map((table, index) => ({ ...reading(from + index), table, kind: 'telemetry' }));
    const nextOffset = 100 + from + tables.length;
    const answer = rawAnswer(encodeCbor({ nextOffset, epoch: 'one', messages }), 'application/cbor');
    const { ask } = await operations.position(to.open, undefined);
    expect(await operations.land(to.open, { ask, answer })).toMatchObject({ kind: 'delivered' });
  };
  const landed = (of: Worker) =>
    of.rows(`SELECT n.name AS "table", count(*)::INTEGER AS messages FROM message m JOIN name n ON n.name_id = m.table_id
      GROUP BY n.name ORDER BY n.name`);
  await landInto(worker, 0);
  expect(await landed(worker)).toEqual([
    { table: 'solar', messages: 1 },
    { table: 't1', messages: 2 },
    { table: 't2', messages: 2 },
  ]);
  expect(await worker.rows('SELECT DISTINCT reason, detail FROM quarantine')).toEqual([
    {
      reason: 'too_many_tables',
      detail: expect.stringMatching(
        /has 2 tables already.*raise limits.tablesPerWorkgroup.*"wattline backfill/,
      ),
    },
  ]);
  await worker.close();

  // A later worker knows the tables, even if the messages have left the warehouse.
  const same = await openWorker(clock, { dataDir: worker.dataDir, limits: { tablesPerWorkgroup: 2 } });
  await same.open.shard.transaction(async (connection) => {
    await connection.run('DELETE FROM message');
  });
  await same.close();
  const again = await openWorker(clock, { dataDir: worker.dataDir, limits: { tablesPerWorkgroup: 2 } });
  await landInto(again, tables.length, tables.toReversed());
  expect(await landed(again)).toEqual([
    { table: 'solar', messages: 1 },
    { table: 't1', messages: 2 },
    { table: 't2', messages: 2 },
  ]);
  await again.close();

  const more = await openWorker(clock, { dataDir: worker.dataDir });
  expect(await more.backfill(archive, upstreamOfNobody)).toMatchObject({ messagesLanded: 4 });
  expect(await landed(more)).toMatchObject([
    {},
    {},
    {},
    { table: 't3', messages: 2 },
    { table: 't4', messages: 2 },
  ]);
  expect(await more.rows('SELECT * FROM quarantine')).toEqual([]);
});

test('quarantined messages are read 500 at a time, and none is left out', async () => {
  const shard = await openTestShard();
  const unreadable = Array.from({ length: 1_001 }, (_, index) => ({
    offset: BigInt(index),
    reason: 'malformed',
    detail: '',
    bytes: Buffer.from(`message ${index}`),
  }));
  const columns = columnsOf(messagesFrom(2_000, 1), unreadable);
  await shard.land(batchOf(0, 1, { columns, nextOffset: 2_001n }));
  const options = { lakeDir: tempDir(), defaultTable: undefined, clock: createTestClock() };
  expect(await countQuarantined(shard, everyMessage, options)).toEqual({ kept: 1_001, readable: 0 });
});
