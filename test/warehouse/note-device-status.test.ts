import { expect, onTestFinished, test } from 'vitest';
import { DAY_MS, HOUR_MS } from '../../src/lib/time.ts';
import { noteDeviceStatus } from '../../src/warehouse/note-device-status.ts';
import { ASLEEP_MS_MAX } from '../../src/warehouse/shard-status.ts';
import { type Fixture, openFixture } from '../publish/publish-fixture.ts';
import { tempDir } from '../support/temp-dir.ts';
import { createTestClock, TEST_START_MS } from '../support/test-clock.ts';
import { landStatuses, type Told } from './land-statuses.ts';
import { openTestShard, rowsOf } from './warehouse-fixture.ts';

async function setUp() {
  const at: Fixture = await openFixture(tempDir(), createTestClock());
  onTestFinished(() => at.shard.close());
  const note = () => at.shard.transaction((connection) => noteDeviceStatus(connection, at.clock.now()));
  const publish = async () => {
    await note();
    return at.publish();
  };
  const numbers = "right(device::VARCHAR, 2)::INTEGER AS device, state, coalesce(reason, '-') AS reason";
  return {
    ...at,
    note,
    publish,
    transitions: () =>
      at.analyse(
        `SELECT ${numbers}, (epoch_ms(store_time) - ${TEST_START_MS}) // 60000 FROM device_status ORDER BY stream_offset`,
      ),
    states: () =>
      at.analyse(
        `SELECT ${numbers}, (epoch_ms(since) - ${TEST_START_MS}) / 60000, (epoch_ms(last_seen) - ${TEST_START_MS}) / 60000 FROM device_state ORDER BY device`,
      ),
  };
}

test('repeated device states are left out, and each device has its last state', {
  tags: ['slow'],
}, async () => {
  const at = await setUp();
  await at.clock.advance(HOUR_MS);
  await landStatuses(at.shard, 0, [
    [1, 'online', 'data received'],
    [1, 'online'],
    [2, 'data'],
    [1, 'data'],
    [1, 'offline', 'timeout'],
  ]);
  await at.publish();
  await landStatuses(at.shard, 10, [
    [1, 'offline', 'gateway'],
    [1, 'online'],
    [3, 'offline'],
    [1, 'data'],
  ]);
  await at.publish();
  expect(await at.transitions()).toEqual([
    [1, 'online', 'data received', 0n],
    [1, 'offline', 'timeout', 4n],
    [1, 'online', '-', 11n],
    [3, 'offline', '-', 12n],
  ]);
  const second = 1 / 60;
  expect(await at.states()).toEqual([
    [1, 'online', '-', 11 + second, 13],
    [2, 'unknown', '-', null, 2],
    [3, 'offline', '-', 12 + second, null],
  ]);
});

test('plain data of a later batch keep the state, since when it holds, and its reason', {
  tags: ['slow'],
}, async () => {
  const at = await setUp();
  await at.clock.advance(HOUR_MS);
  await landStatuses(at.shard, 0, [
    [1, 'online', 'data received'],
    [2, 'offline', 'timeout'],
  ]);
  await at.note();
  await landStatuses(at.shard, 5, [
    [1, 'data'],
    [2, 'data'],
  ]);
  await at.publish();
  const second = 1 / 60;
  expect(await at.states()).toEqual([
    [1, 'online', 'data received', second, 5],
    [2, 'offline', 'timeout', 1 + second, 6],
  ]);
});

test('the same in any batches, noted at any time, gives the same', { tags: ['slow'] }, async () => {
  const told: Told[] = [
    [1, 'online'],
    [2, 'online'],
    [1, 'data'],
    [1, 'offline'],
    [1, 'offline'],
    [2, 'data'],
    [1, 'online'],
    [2, 'offline'],
    [1, 'offline'],
  ];
  const results: unknown[] = [];
  for (const [size, noteEach] of [
    [9, false],
    [1, true],
    [2, true],
    [4, false],
  ] as const) {
    const at = await setUp();
    for (let from = 0; from < told.length; from += size) {
      await landStatuses(at.shard, from, told.slice(from, from + size));
      if (noteEach) await at.note();
    }
    await at.publish();
    results.push([await at.transitions(), await at.states()]);
  }
  expect(new Set(results.map((result) => JSON.stringify(result, (_, value) => String(value)))).size).toBe(1);
  for (const result of results) expect(result).toEqual(results[0]);
  expect((results[0] as unknown[][])[0]).toHaveLength(6);
});

test('imported readings are no sign of life, and a quiet publish writes nothing', {
  tags: ['slow'],
}, async () => {
  const at = await setUp();
  await landStatuses(at.shard, 0, [[1, 'data']]);
  await landStatuses(
    at.shard,
    5,
    [
      [1, 'data'],
      [4, 'data'],
    ],
    'import: old.csv',
  );
  await at.publish();
  expect(await at.states()).toEqual([[1, 'unknown', '-', null, 0]]);
  expect(await at.publish()).toMatchObject({ kind: 'unchanged' });
});

test('the time of the newest data never falls, and a new state without a reason has none', async () => {
  const at = await setUp();
  await at.clock.advance(HOUR_MS);
  await landStatuses(at.shard, 0, [
    [1, 'data'],
    [1, 'offline', 'timeout'],
  ]);
  await at.note();
  await at.shard.transaction((connection) =>
    connection.run('UPDATE device_state SET last_seen_ms = last_seen_ms + 600000'),
  );
  await landStatuses(at.shard, 5, [
    [1, 'data'],
    [1, 'online'],
  ]);
  await at.note();
  const seen = `SELECT state, reason, ((last_seen_ms - ${TEST_START_MS}) // 60000)::INTEGER AS minute FROM device_state`;
  expect(await rowsOf(at.shard, seen)).toEqual([{ state: 'online', reason: null, minute: 10 }]);
});

test('states stay when their messages are trimmed, and each day of transitions is a separate file', {
  tags: ['slow'],
}, async () => {
  const at = await setUp();
  await landStatuses(at.shard, 0, [[1, 'offline']]);
  await at.publish();
  await at.shard.transaction((connection) => connection.run('DELETE FROM message'));
  await landStatuses(at.shard, 24 * 60, [[1, 'online']]);
  await at.publish();
  expect(await at.transitions()).toHaveLength(2);
  const files = (await at.head()).files.filter(({ dataset }) => dataset === 'device_status');
  expect(files.map(({ period }) => period).sort()).toEqual(['2026-11-20', '2026-11-21']);
});

test('a device that went to sleep is counted on its own, and as offline if it has not woken up after a day', async () => {
  const at = await setUp();
  await landStatuses(at.shard, 0, [
    [1, 'data'],
    [1, 'offline', 'asleep'],
    [2, 'offline', 'asleep'],
    [3, 'offline', 'timeout'],
    [4, 'online'],
    [5, 'data'],
  ]);
  await at.note();
  const count = async () => (await at.shard.status()).devices;
  expect(await count()).toEqual({ online: 1, offline: 1, asleep: 2, unknown: 1 });
  await at.clock.advance(ASLEEP_MS_MAX + HOUR_MS);
  expect(await count()).toEqual({ online: 1, offline: 3, asleep: 0, unknown: 1 });
});

test('a device is not seen after the clock, even if its messages were stored while the clock was ahead', {
  tags: ['slow'],
}, async () => {
  const at = await setUp();
  const seen = async () => (await at.states()).map((row) => (row as unknown[]).at(-1));
  at.clock.set(TEST_START_MS + 400 * DAY_MS);
  await landStatuses(at.shard, 400 * 24 * 60, [[1, 'data']]);
  await at.publish();
  expect(await seen()).toEqual([400 * 24 * 60]);
  // Store times continue at the last one, until the clock is there again.
  at.clock.set(TEST_START_MS + 7 * HOUR_MS);
  await landStatuses(at.shard, 400 * 24 * 60 + 1, [
    [1, 'data'],
    [2, 'data'],
  ]);
  await at.publish();
  expect(await seen()).toEqual([7 * 60, 7 * 60]);
  at.clock.set(TEST_START_MS + 8 * HOUR_MS);
  await landStatuses(at.shard, 400 * 24 * 60 + 3, [[2, 'data']]);
  await at.publish();
  expect(await seen()).toEqual([7 * 60, 8 * 60]);
});

test('without new batches nothing is written', async () => {
  const shard = await openTestShard();
  await landStatuses(shard, 0, [[1, 'online']]);
  const progress = async (nowMs: number) => {
    await shard.transaction((connection) => noteDeviceStatus(connection, nowMs));
    return rowsOf(shard, "SELECT batch_id, updated_at_ms FROM progress WHERE stage = 'device_status'");
  };
  const noted = [{ batch_id: 1n, updated_at_ms: 7n }];
  expect([await progress(7), await progress(8)]).toEqual([noted, noted]);
});
