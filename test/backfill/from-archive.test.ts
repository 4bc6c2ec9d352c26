import { expect, test } from 'vitest';
import { beginBackfill, endBackfill } from '../../src/backfill/backfill-ledger.ts';
import { fillFromArchive, piecesOf, planArchive } from '../../src/backfill/from-archive.ts';
import { runBackfill } from '../../src/backfill/run-backfill.ts';
import { createRestSource } from '../../src/client/rest-source.ts';
import { configSchema } from '../../src/config/config.ts';
import { energyStreamSchema } from '../../src/config/energy-stream.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { HOUR_MS, MINUTE_MS } from '../../src/lib/time.ts';
import type { Shard } from '../../src/warehouse/shard.ts';
import { openFixture } from '../publish/publish-fixture.ts';
import { deviceId } from '../support/messages.ts';
import { messagesToColumns } from '../support/messages-to-columns.ts';
import { atEnd } from '../support/shared.ts';
import { tempDir } from '../support/temp-dir.ts';
import { createTestClock } from '../support/test-clock.ts';
import { until } from '../support/until.ts';
import { rowsOf } from '../warehouse/warehouse-fixture.ts';

const MIDNIGHT_MS = Date.UTC(2026, 10, 21);
const never = new AbortController().signal;
const energyStreams = ['solar', 'heat'].map((table) =>
  energyStreamSchema.parse({ table, field: 'total_wh', method: 'total_energy' }),
);
const archive = { source: 'archive', messagesPerSecond: 1 } as const;

interface Told {
  eventMs: number;
  storeMs?: number;
  table?: string;
  members?: object;
}

async function land(shard: Shard, messages: readonly Told[]) {
  const first = (await shard.checkpoint('stream'))?.nextOffset ?? 0n;
  const columns = messagesToColumns(
    messages.map(({ eventMs, storeMs = eventMs, table = 'solar', members }, index) => ({
      offset: first + BigInt(index),
      table,
      device: deviceId(index % 2),
      event_time: eventMs,
      store_time: storeMs,
      data: { total_wh: index },
      ...members,
    })),
    shard.names,
  );
  const nextOffset = first + BigInt(messages.length);
  await shard.land({ origin: 'stream', columns, fromOffset: first, nextOffset, logEpoch: 'one' });
}

/** A warehouse whose first batch is only in the lake. Its second batch is in both. */
async function setUp(onlyInLake: readonly Told[]) {
  const clock = createTestClock(MIDNIGHT_MS + HOUR_MS);
  const at = await openFixture(tempDir(), clock);
  atEnd(() => at.shard.close());
  await land(at.shard, onlyInLake);
  await land(at.shard, [{ eventMs: MIDNIGHT_MS + 15 * MINUTE_MS }]);
  await at.publish();
  const before = await rowsOf(at.shard, 'SELECT * EXCLUDE batch_id FROM message WHERE batch_id = 1');
  await at.shard.transaction((connection) => connection.run('DELETE FROM message WHERE batch_id = 1'));
  const options = { lakeDir: at.lakeDir, energyStreams, defaultTable: undefined, clock, signal: never };
  return { ...at, options, before };
}

test('the archive has the telemetry of its period that only the lake has, as it had landed', {
  tags: ['slow'],
}, async () => {
  const [fromMs, toMs] = [MIDNIGHT_MS + 7 * MINUTE_MS, MIDNIGHT_MS + 32 * MINUTE_MS];
  const { shard, options, before } = await setUp([
    { eventMs: fromMs - 1 },
    // It was stored the day before, because the clock of its device was ahead.
    { eventMs: fromMs, storeMs: MIDNIGHT_MS - 30 * MINUTE_MS, members: { source: 'roof', msg_id: 7 } },
    { eventMs: fromMs + MINUTE_MS, members: { data: { total_wh: 1, state: 'run', power_w: 2.5 } } },
    { eventMs: fromMs + MINUTE_MS, table: 'heat', members: { data: { state: 'off' } } },
    { eventMs: fromMs + MINUTE_MS, table: 'water' },
    {
      eventMs: fromMs + MINUTE_MS,
      members: { data: undefined, kind: 'device_status', state: 'online' },
    },
    { eventMs: toMs - 1 },
    { eventMs: toMs },
  ]);
  const request = { ...archive, fromMs, toMs };
  const plan = await planArchive(shard, request, options);
  expect(plan).toMatchObject({ messages: 4, requests: 0, days: ['2026-11-21'], notes: [] });
  expect(plan.pieces).toEqual([{ fromMs, toMs, gapId: undefined, messagesExpected: 4 }]);

  const piece = { ...plan.pieces[0]!, pieceNo: 0, messagesLanded: 0, isDone: false, isWhole: true };
  expect(await fillFromArchive(shard, 3, piece, request, options)).toBe(4);
  expect(piece.isDone).toBe(true);
  expect(
    await rowsOf(shard, 'SELECT * EXCLUDE batch_id FROM archived_message ORDER BY stream_offset'),
  ).toEqual([1, 2, 3, 6].map((index) => before[index]));
  const entered = `SELECT batch_id, origin, message_count, first_store_time_ms, last_store_time_ms FROM batch
    WHERE batch_id = (SELECT DISTINCT batch_id FROM archived_message)`;
  expect(await rowsOf(shard, entered)).toEqual([
    {
      batch_id: 3n,
      origin: 'archive:3',
      message_count: 4n,
      first_store_time_ms: BigInt(MIDNIGHT_MS - 30 * MINUTE_MS),
      last_store_time_ms: BigInt(toMs - 1),
    },
  ]);
});

test('only the tables of energy streams are read, or one of them', { tags: ['slow'] }, async () => {
  const { shard, options } = await setUp([{ eventMs: MIDNIGHT_MS }, { eventMs: MIDNIGHT_MS, table: 'heat' }]);
  const messagesOf = async (request: { fromMs: number; table?: string }) =>
    (await planArchive(shard, { ...archive, ...request }, options)).messages;
  expect(await messagesOf({ fromMs: 0 })).toBe(2);
  expect(await messagesOf({ fromMs: 0, table: 'heat' })).toBe(1);
  await expect(messagesOf({ fromMs: 0, table: 'water' })).rejects.toThrow(
    'no energy stream reads table "water"; energy streams read solar, heat',
  );
  const later = await planArchive(shard, { ...archive, fromMs: MIDNIGHT_MS + 1 }, options);
  expect(later).toMatchObject({
    messages: 0,
    pieces: [],
    notes: [expect.stringContaining('the lake has no messages')],
  });
});

test('a backfill that is cancelled between two pieces reads no further piece', {
  tags: ['slow'],
}, async () => {
  const minutes = [1, 11];
  const { shard, options } = await setUp(
    minutes.map((minute) => ({ eventMs: MIDNIGHT_MS + minute * MINUTE_MS })),
  );
  // One message a second, so there is a second between the two pieces.
  const request = { ...archive, fromMs: MIDNIGHT_MS };
  const pieces = minutes.map((minute) => ({
    fromMs: MIDNIGHT_MS + (minute - 1) * MINUTE_MS,
    toMs: MIDNIGHT_MS + (minute + 1) * MINUTE_MS,
    gapId: undefined,
    messagesExpected: 1,
  }));
  const plan = { ...(await planArchive(shard, request, options)), pieces };
  const { backfillId } = await beginBackfill(shard, request, plan, options.clock);
  const progress = { backfillId, pieces: 0, piecesDone: 0, messagesRead: 0, messagesLanded: 0, part: 0 };
  const [workgroup] = configSchema.parse({ workgroups: [{ id: 'acme', energyStreams }] }).workgroups;
  const source = createRestSource({ url: 'http://127.0.0.1:9', workgroup: 'acme' });
  const run = { ...options, workgroup: workgroup!, source, logger: silentLogger };
  const running = runBackfill(shard, request, run, progress);
  await until('the first piece is read', () => progress.messagesRead > 0);
  await endBackfill(shard, backfillId, 'cancelled', options.clock);
  expect(await running).toMatchObject({ kind: 'cancelled', messagesRead: 1 });
  expect(await rowsOf(shard, 'SELECT count(*) AS count FROM archived_message')).toEqual([{ count: 1n }]);
});

test('neighbouring five minutes are one piece while it has at most 25,000 messages', () => {
  const [a, b, c] = [0, 5, 20].map((minute) => MIDNIGHT_MS + minute * MINUTE_MS);
  const pieces = (counts: number[], request: { fromMs: number; toMs?: number } = { fromMs: 0 }) =>
    piecesOf(
      counts.map((messages, index) => ({ start_ms: [a, b, c][index]!, messages })),
      request,
    ).map(({ fromMs, toMs, messagesExpected }) => [
      (fromMs - MIDNIGHT_MS) / MINUTE_MS,
      (toMs - MIDNIGHT_MS) / MINUTE_MS,
      messagesExpected,
    ]);
  expect(pieces([12_500, 12_500, 1])).toEqual([
    [0, 10, 25_000],
    [20, 25, 1],
  ]);
  expect(pieces([12_500, 12_501, 1])).toEqual([
    [0, 5, 12_500],
    [5, 25, 12_502],
  ]);
  expect(pieces([90_000])).toEqual([[0, 5, 90_000]]);
  const bounds = { fromMs: MIDNIGHT_MS + MINUTE_MS, toMs: MIDNIGHT_MS + 22 * MINUTE_MS };
  expect(pieces([1, 1, 1], bounds)).toEqual([[1, 22, 3]]);
});
