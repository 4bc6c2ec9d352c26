import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { expect, onTestFinished, test } from 'vitest';
import { HOUR_MS } from '../../src/lib/time.ts';
import { deviceId } from '../support/messages.ts';
import { messagesToColumns } from '../support/messages-to-columns.ts';
import { isSoak } from '../support/rounds.ts';
import { TEST_START_MS } from '../support/test-clock.ts';
import { openOwnFixture } from './own-fixture.ts';
import { addSeries, landMessages, rows, storeDays, storeIntervals } from './publish-fixture.ts';

test('landed messages can be read with names instead of ids, by folders and by views', {
  tags: ['slow'],
}, async () => {
  const { shard, paths, publish, renew, analyse } = await openOwnFixture();
  await landMessages(shard, { count: 5, storeTimeMs: TEST_START_MS, devices: 2 });
  await landMessages(shard, { count: 3, storeTimeMs: TEST_START_MS + HOUR_MS, table: 'wind' });
  await addSeries(shard, 1, 1, 'inverter');
  await storeIntervals(shard, { series: 1, day: '2026-11-20', energyWh: [1, 2, 3], flags: 1 });
  await storeDays(shard, [{ day: '2026-11-20', device: 1, energyWh: 6, flags: 1 + 128 }]);

  expect(await publish()).toMatchObject({ kind: 'published', sequence: 1, batchId: 2n });
  await renew();

  expect(readdirSync(join(paths.current, 'messages'))).toEqual(['table=solar', 'table=wind']);
  expect(readdirSync(join(paths.current, 'messages/table=wind'))).toEqual(['hour=2026-11-20T13']);
  expect(
    await analyse(
      `SELECT device::VARCHAR, source, epoch_ms(event_time), epoch_ms(store_time), data['power_w'], other->>'state', kind
       FROM messages WHERE "table" = 'solar' ORDER BY stream_offset LIMIT 1`,
    ),
  ).toEqual([
    [deviceId(0), 'inverter', BigInt(TEST_START_MS - 500), BigInt(TEST_START_MS), 1000, 'run', 'telemetry'],
  ]);
  expect(await analyse('SELECT sum(energy_wh)::INTEGER, any_value(flags[1]) FROM interval_energy')).toEqual([
    [6, 'estimated'],
  ]);
  expect(
    await analyse("SELECT day::VARCHAR, energy_wh, array_to_string(flags, ' '), field FROM daily_energy"),
  ).toEqual([['2026-11-20', 6n, 'estimated partial', 'energy_wh']]);
  expect(await analyse('SELECT count(*) FROM gap')).toEqual([[0n]]);
  expect(
    await analyse(
      `SELECT view_name FROM duckdb_views() WHERE NOT internal AND comment IS NULL
       UNION ALL SELECT table_name || '.' || column_name FROM duckdb_columns() WHERE NOT internal AND comment IS NULL AND schema_name = 'main'`,
    ),
  ).toEqual([]);
});

test('every message is in the lake once, over many publications', async () => {
  const { shard, publish, head, analyse } = await openOwnFixture();
  for (let batch = 0; batch < 4; batch++) {
    await landMessages(shard, { count: 10, storeTimeMs: TEST_START_MS + batch * 1000 });
    if (batch !== 1) await publish();
  }
  expect((await head()).totals.messages).toBe(40);
  expect(await analyse('SELECT count(*), count(DISTINCT stream_offset) FROM messages')).toEqual([[40n, 40n]]);
});

test.runIf(isSoak)(
  'many messages become several files, each of whole batches, and every message is in one of them',
  async () => {
    const { shard, paths, publish, renew, analyse } = await openOwnFixture();
    await landMessages(shard, { count: 1, storeTimeMs: TEST_START_MS });
    await shard.transaction(async (connection) => {
      for (let batch = 2; batch <= 5; batch++) {
        await connection.run(
          `INSERT INTO message (batch_id, stream_offset, table_id, kind, device, event_time_ms, store_time_ms, field_ids, numbers)
         SELECT ${batch}, range, (SELECT min(table_id) FROM message), 0, uuid(), ${TEST_START_MS}, ${TEST_START_MS}, [], []
         FROM range(${batch * 1_000_000}, ${batch * 1_000_000 + 120_000})`,
        );
        await connection.run(
          `INSERT INTO batch SELECT * REPLACE (${batch} AS batch_id, 120000 AS message_count) FROM batch WHERE batch_id = 1`,
        );
      }
    });

    expect(await publish()).toMatchObject({ kind: 'published' });

    await renew();
    const files = readdirSync(join(paths.current, 'messages/table=solar/hour=2026-11-20T12'));
    expect(files).toHaveLength(3);
    expect(
      await analyse('SELECT count(*)::INTEGER, count(DISTINCT stream_offset)::INTEGER FROM messages'),
    ).toEqual([[480_001, 480_001]]);
  },
);

test('messages of a past month or day become one file, and messages of today one file for each hour', {
  tags: ['slow'],
}, async () => {
  const { shard, publish, head, analyse } = await openOwnFixture();
  const land = async (...hours: string[]) => {
    for (const hour of hours)
      await landMessages(shard, { count: 2, storeTimeMs: Date.parse(`${hour}:10:00Z`) });
    await publish();
    const files = (await head()).files.filter(({ dataset }) => dataset === 'messages');
    return files
      .map(({ period, folder, rows }) => [period, folder === `table=solar/hour=${period}`, rows])
      .sort();
  };
  expect(await land('2026-09-30T23', '2026-10-01T00', '2026-10-20T12')).toEqual([
    ['2026-09', true, 2],
    ['2026-10', true, 4],
  ]);
  // Files that are there stay as they are.
  const hours = ['2026-10-21T00', '2026-10-31T23', '2026-11-18T01', '2026-11-18T23', '2026-11-20T10'];
  expect(await land(...hours, '2026-11-20T11')).toEqual([
    ['2026-09', true, 2],
    ['2026-10', true, 4],
    ['2026-10', true, 4],
    ['2026-11-18', true, 4],
    ['2026-11-20T10', true, 2],
    ['2026-11-20T11', true, 2],
  ]);
  expect(await analyse('SELECT count(*), count(DISTINCT stream_offset) FROM messages')).toEqual([[18n, 18n]]);
});

test('nothing new, no new generation', { tags: ['slow'] }, async () => {
  const { shard, publish } = await openOwnFixture();
  await landMessages(shard, { count: 5, storeTimeMs: TEST_START_MS });
  await storeDays(shard, [{ day: '2026-11-20', device: 1, energyWh: 6 }]);
  await publish();
  expect(await publish()).toEqual({ kind: 'unchanged', sequence: 1 });
  // Marked, but computed to the same.
  await storeDays(shard, [{ day: '2026-11-20', device: 1, energyWh: 6 }]);
  expect(await publish()).toEqual({ kind: 'unchanged', sequence: 1 });
  expect(await shard.transaction((connection) => rows(connection, 'FROM dirty_partition'))).toEqual([]);
});

test('only the partitions that changed are written again', async () => {
  const { shard, publish, head } = await openOwnFixture();
  await addSeries(shard, 1, 1, 'inverter');
  await storeIntervals(shard, { series: 1, day: '2026-11-19', energyWh: [1] });
  await storeIntervals(shard, { series: 1, day: '2026-11-20', energyWh: [2] });
  await storeDays(shard, [
    { day: '2026-10-31', device: 1, energyWh: 1 },
    { day: '2026-11-20', device: 1, energyWh: 2 },
  ]);
  await publish();
  const before = (await head()).files;
  await storeIntervals(shard, { series: 1, day: '2026-11-20', energyWh: [2, 5] });
  await storeDays(shard, [{ day: '2026-11-20', device: 1, energyWh: 7 }]);
  expect(await publish()).toMatchObject({ kind: 'published', files: 2 });
  const after = (await head()).files;
  const changed = after.filter((file) => !before.some(({ name }) => name === file.name));
  expect(changed.map(({ dataset, period, energyWh }) => [dataset, period, energyWh])).toEqual([
    ['interval_energy', '2026-11-20', 7],
    ['daily_energy', '2026-11', 7],
  ]);
  expect(after).toHaveLength(before.length);
});

test('many days of a month that is over are written as the month, in place of its days, unless they are large', {
  tags: ['slow'],
}, async () => {
  const { shard, publish, head, analyse } = await openOwnFixture();
  await addSeries(shard, 1, 1, 'inverter');
  const days = (month: string, count: number) =>
    Array.from({ length: count }, (_, index) => `${month}-${String(index + 1).padStart(2, '0')}`);
  const periods = async () =>
    (await head()).files.filter(({ dataset }) => dataset === 'interval_energy').map(({ period }) => period);
  for (const day of days('2026-10', 2)) await storeIntervals(shard, { series: 1, day, energyWh: [1] });
  await publish();
  expect(await periods()).toEqual(days('2026-10', 2));

  // One day stays as it was, one changes, four are new; November is not over.
  for (const day of [...days('2026-10', 6).slice(1), ...days('2026-11', 5)])
    await storeIntervals(shard, { series: 1, day, energyWh: [1, 2] });
  await publish();
  expect(await periods()).toEqual(['2026-10', ...days('2026-11', 5)]);
  expect(await analyse('SELECT count(*)::INTEGER, sum(energy_wh)::INTEGER FROM interval_energy')).toEqual([
    [21, 31],
  ]);

  await shard.transaction(async (connection) => {
    await connection.run(
      `INSERT INTO interval_energy (series_id, interval_start_ms, energy_wh, covered_ms, flags)
       SELECT 1, epoch_ms(TIMESTAMP '2026-09-01') + range % 480 * 900000, 1, 900000, 0 FROM range(500_001)`,
    );
    for (const day of days('2026-09', 5))
      await connection.run(`INSERT INTO dirty_partition VALUES ('interval_energy', '${day}')`);
  });
  await publish();
  expect(await periods()).toEqual(['2026-10', ...days('2026-11', 5), ...days('2026-09', 5)]);
});

test('days and intervals that are withdrawn leave the lake', { tags: ['slow'] }, async () => {
  const { shard, publish, head, analyse } = await openOwnFixture();
  await addSeries(shard, 1, 1, 'inverter');
  await storeIntervals(shard, { series: 1, day: '2026-11-20', energyWh: [2] });
  await storeDays(shard, [
    { day: '2026-11-20', device: 1, energyWh: 1 },
    { day: '2026-11-20', device: 2, energyWh: 2 },
  ]);
  await publish();
  await storeIntervals(shard, { series: 1, day: '2026-11-20', energyWh: [] });
  await shard.transaction(async (connection) => {
    await connection.run(`DELETE FROM daily_energy WHERE device = '${deviceId(2)}'`);
    await connection.run("INSERT INTO dirty_partition VALUES ('daily_energy', '2026-11')");
  });
  await publish();
  expect(await analyse('SELECT energy_wh FROM daily_energy')).toEqual([[1n]]);
  expect(await analyse('SELECT count(*) FROM interval_energy')).toEqual([[0n]]);
  expect((await head()).totals.dailyEnergyWh).toBe(1);
});

test('a session of an analyst keeps the generation that it has opened', { tags: ['slow'] }, async () => {
  const { shard, paths, publish, renew } = await openOwnFixture();
  await storeDays(shard, [{ day: '2026-11-20', device: 1, energyWh: 1 }]);
  await publish();
  await renew();
  const session = await DuckDBInstance.create(join(paths.current, 'analytics.duckdb'), {
    access_mode: 'READ_ONLY',
  });
  onTestFinished(() => session.closeSync());
  const connection = await session.connect();
  expect(await rows(connection, 'SELECT energy_wh FROM daily_energy')).toEqual([[1n]]);
  await storeDays(shard, [{ day: '2026-11-20', device: 1, energyWh: 2 }]);
  await publish();
  await renew();
  expect(await rows(connection, 'SELECT energy_wh FROM daily_energy')).toEqual([[1n]]);
});

test('quarantined messages are published with their batches in any file order, and gaps with their state', {
  tags: ['slow'],
}, async () => {
  const { shard, publish, head, analyse } = await openOwnFixture();
  const land = async (from: bigint, count: number) => {
    const broken = Array.from({ length: count }, (_, index) => ({
      offset: from + BigInt(index),
      table: '?',
    }));
    const landed = await shard.land({
      origin: 'stream',
      columns: messagesToColumns(broken, shard.names),
      fromOffset: (await shard.checkpoint('stream'))?.nextOffset,
      nextOffset: from + BigInt(count),
      logEpoch: 'test',
    });
    expect(landed).toMatchObject({ kind: 'landed', quarantined: count });
  };
  const filesOf = async () =>
    (await head()).files
      .filter(({ dataset }) => dataset === 'quarantine')
      .map(({ folder, rows }) => [folder, rows]);
  const checkpoint = () => shard.read((connection) => connection.run('FORCE CHECKPOINT'));
  await land(1n, 2_000);
  const nextOffset = (await shard.checkpoint('stream'))!.nextOffset;
  await shard.land({
    origin: 'stream',
    columns: messagesToColumns([], shard.names),
    fromOffset: nextOffset,
    nextOffset,
    logEpoch: 'test',
    gap: { reason: 'expired', from: 1n, to: 5n, fromTimeMs: undefined, toTimeMs: undefined },
  });
  await publish();
  await land(3_000n, 3);
  await shard.transaction((connection) => connection.run('UPDATE gap SET to_offset = 6'));
  // Those that can be read after all leave: then all that are left are written again.
  await shard.transaction(async (connection) => {
    await connection.run('DELETE FROM quarantine WHERE stream_offset <= 1500');
    await connection.run("INSERT INTO dirty_partition VALUES ('quarantine', 'test')");
  });
  await checkpoint();
  await publish();
  expect(await filesOf()).toEqual([['month=2026-11', 503]]);
  await land(4_000n, 2);
  await checkpoint();
  await publish();
  expect(await filesOf()).toEqual([
    ['month=2026-11', 503],
    ['month=2026-11', 2],
  ]);
  expect(await analyse('SELECT count(*), count(DISTINCT stream_offset) FROM quarantine')).toEqual([
    [505n, 505n],
  ]);
  expect(await analyse('SELECT reason, to_offset FROM gap')).toEqual([['expired', 6n]]);
});

test('odd names and a field that a message holds twice are published as they are', {
  tags: ['slow'],
}, async () => {
  const { shard, publish, analyse } = await openOwnFixture();
  await landMessages(shard, {
    count: 2,
    storeTimeMs: TEST_START_MS,
    data: () => ({ "it's": 1.5, '=;--': Number.NaN, größe: 3 }),
  });
  const table = 'Zähler/../1 =%';
  await shard.transaction(async (connection) => {
    await connection.run("UPDATE name SET name = $table WHERE name = 'solar'", { table });
    await connection.run(
      `UPDATE message SET field_ids = list_concat(field_ids, [field_ids[1]]), numbers = list_concat(numbers, [9])
       WHERE stream_offset = (SELECT max(stream_offset) FROM message)`,
    );
  });
  await publish();
  expect(
    await analyse(
      `SELECT data['it''s'], isnan(data['=;--']), cardinality(data), "table" FROM messages ORDER BY stream_offset`,
    ),
  ).toEqual(
    [
      [1.5, true, 3, table],
      [9, true, 3, table],
    ].map(([value, nan, size, name]) => [value, nan, BigInt(size as number), name]),
  );
});

test('an unknown dirty partition is an error, and is not left out silently', { tags: ['slow'] }, async () => {
  const { shard, publish } = await openOwnFixture();
  await publish();
  for (const [dataset, partition, code] of [
    ['daily', '2026-11', 'UnknownDataset'],
    ['interval_energy', '2026-11', 'UnknownPeriod'],
    ['daily_energy', 'November', 'UnknownPeriod'],
  ]) {
    await shard.transaction(async (connection) => {
      await connection.run('DELETE FROM dirty_partition');
      await connection.run('INSERT INTO dirty_partition VALUES ($dataset, $partition)', {
        dataset: dataset!,
        partition: partition!,
      });
    });
    await expect(publish()).rejects.toMatchObject({ code });
  }
});

// Another file system is the one place where links are sure to fail.
test.runIf(existsSync('/dev/shm') && statSync('/dev/shm').dev !== statSync('/tmp').dev)(
  'where files cannot be linked they are copied',
  { tags: ['slow'] },
  async () => {
    const elsewhere = mkdtempSync('/dev/shm/wattline-test-');
    onTestFinished(() => rmSync(elsewhere, { recursive: true, force: true }));
    const { shard, paths, publish, analyse } = await openOwnFixture({ folders: [elsewhere] });
    mkdirSync(paths.root, { recursive: true });
    symlinkSync(elsewhere, paths.trees);
    await landMessages(shard, { count: 5, storeTimeMs: TEST_START_MS });
    await publish();
    expect(await analyse('SELECT count(*) FROM messages')).toEqual([[5n]]);
    expect(readdirSync(join(elsewhere, '000000000001', 'messages/table=solar'))).toHaveLength(1);
  },
);
