// @module-tag slow
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { expect, test } from 'vitest';
import { DAY_MS, HOUR_MS } from '../../src/lib/time.ts';
import { loadMigrations } from '../../src/warehouse/load-sql.ts';
import { migrate } from '../../src/warehouse/migrate.ts';
import { tempDir } from '../support/temp-dir.ts';
import { openTestShard, rowsOf } from '../warehouse/warehouse-fixture.ts';
import { deviceOf } from './many-streams.ts';
import { type CaseReading, energyByDay, energyRows, landReadings, rollUpSite } from './rollup-fixture.ts';

const START_MS = Date.UTC(2026, 10, 20);
const site = {
  timezone: 'Etc/UTC',
  streams: [
    { table: 't', field: 'net', method: 'total_energy' as const, register: 'net' as const },
    { table: 't', field: 'power', method: 'power_curve' as const },
  ],
};
const readings = [0, 1, 2, 3, 26, 27].flatMap((hour): CaseReading[] => [
  {
    event_time: new Date(START_MS + hour * HOUR_MS).toISOString(),
    device: deviceOf(1),
    data: { net: 1_000 * hour, power: 500 },
  },
  {
    event_time: new Date(START_MS + hour * HOUR_MS).toISOString(),
    device: deviceOf(2),
    // Beyond the range of power, and in the range of registers.
    data: { net: 1e12 + 1_000 * hour },
  },
]);

test('poison that an older version stored is rejected when the rules change, and the days are computed without it', async () => {
  const clean = await openTestShard();
  const shard = await openTestShard();
  await landReadings(clean, readings);
  await rollUpSite(clean, site);
  await landReadings(shard, readings);
  await rollUpSite(shard, site);
  // As an older version left them: readings out of range, one of them instead of a good one, an absurd day,
  // and the rules of then.
  const seriesOf = (device: number, method: string) =>
    `(SELECT series_id FROM series JOIN energy_stream USING (stream_id) WHERE device = '${deviceOf(device)}' AND (identity->>'method') = '${method}')`;
  const readingRow = (id: string, hour: number, value: string) =>
    `INSERT INTO reading SELECT ${id}, ${START_MS + hour * HOUR_MS}, ${value}, NULL, ${5000 + (hour % 100)}, 1`;
  for (const sql of [
    readingRow(seriesOf(1, 'total_energy'), 5, '5e16'),
    readingRow(seriesOf(1, 'total_energy'), 6, '1e19'),
    readingRow(seriesOf(1, 'power_curve'), 4, '4e10'),
    readingRow(seriesOf(2, 'total_energy'), 7, "'nan'"),
    readingRow(seriesOf(2, 'total_energy'), 24 * 365 * 5000, '1'),
    `UPDATE series SET last_ms = ${START_MS + 365 * 5000 * DAY_MS} WHERE device = '${deviceOf(2)}'`,
    `INSERT INTO superseded_reading SELECT * FROM reading WHERE event_time_ms = ${START_MS + 2 * HOUR_MS} AND series_id = ${seriesOf(1, 'total_energy')}`,
    `UPDATE reading SET value = -5e16, stream_offset = 6000 WHERE event_time_ms = ${START_MS + 2 * HOUR_MS} AND series_id = ${seriesOf(1, 'total_energy')}`,
    'UPDATE interval_energy SET energy_wh = 50000000000000000 WHERE energy_wh > 0',
    'UPDATE daily_energy SET energy_wh = 50000000000000000',
    `UPDATE energy_stream SET settings = json_merge_patch(settings, '{"rules": 3}')`,
  ])
    await rowsOf(shard, sql);
  await rollUpSite(shard, site);
  expect(await energyRows(shard)).toEqual(await energyRows(clean));
  expect(await energyByDay(shard)).toEqual(await energyByDay(clean));
  const rejected = await rowsOf(
    shard,
    'SELECT field, reason, readings::INTEGER AS readings, samples[1]."text" AS sample FROM rejected_reading ORDER BY device, field, reason',
  );
  expect(rejected).toEqual([
    { field: 'net', reason: 'out_of_range', readings: 3, sample: '5e+16' },
    { field: 'power', reason: 'out_of_range', readings: 1, sample: '40000000000.0' },
    { field: 'net', reason: 'future', readings: 1, sample: '1.0' },
    { field: 'net', reason: 'not_finite', readings: 1, sample: 'nan' },
  ]);
  expect(await rowsOf(shard, 'FROM set_aside')).toEqual([]);
  expect(await rollUpSite(shard, site)).toMatchObject({ days: 0, rejected: 0 });
});

test('rejected readings are counted by day with samples, nulls without samples, and old ones are deleted', async () => {
  const shard = await openTestShard();
  const bad = (count: number, data: Record<string, unknown>, from: number) =>
    Array.from({ length: count }, (_, index) => ({
      event_time: new Date(START_MS + (from + index) * 1_000).toISOString(),
      data: data as never,
    }));
  // Neither the earliest nor the latest ones come first or last.
  for (const post of [2, 0, 3, 1]) {
    await landReadings(shard, [
      ...bad(50, { net: 1e19 }, post * 100),
      ...bad(40, { net: null }, 1_000 + post * 100),
    ]);
    await rollUpSite(shard, site);
  }
  const rows = await rowsOf(
    shard,
    `SELECT reason, readings::INTEGER AS readings, len(samples) AS samples, samples[1]."text" AS sample,
       (first_ms - ${START_MS})::INTEGER AS from_ms, (last_ms - ${START_MS})::INTEGER AS to_ms
     FROM rejected_reading ORDER BY reason`,
  );
  expect(rows).toEqual([
    { reason: 'null', readings: 160, samples: 0n, sample: null, from_ms: 1_000_000, to_ms: 1_339_000 },
    { reason: 'out_of_range', readings: 200, samples: 20n, sample: '1e+19', from_ms: 0, to_ms: 349_000 },
  ]);
  const status = await shard.status();
  expect(status).toMatchObject({ quarantined: 360, quarantinedByReason: { out_of_range: 200, null: 160 } });
  expect(await rowsOf(shard, 'FROM quarantine')).toEqual([]);
});

test('rejected readings of an older version are converted to counts, and whole messages stay', async () => {
  const path = join(tempDir(), 'acme.duckdb');
  const instance = await DuckDBInstance.create(path);
  const old = await instance.connect();
  await migrate(old, { clock: { now: () => START_MS }, path, migrations: loadMigrations().slice(0, 12) });
  await old.run(
    `INSERT INTO quarantine (batch_id, stream_offset, stage, reason, detail, device, source, field, event_time_ms, quarantined_at_ms)
     SELECT 1, i // 2, 'rollup', CASE WHEN i < 100 THEN 'negative' ELSE 'null' END, CASE WHEN i < 100 THEN '-' || i // 2 END,
       '${deviceOf(1)}', 'roof', 'wh', 1000 * (i // 2), ${START_MS} FROM range(160) t(i)`,
  );
  await old.run(
    `INSERT INTO quarantine (batch_id, stage, reason, bytes, quarantined_at_ms) VALUES (1, 'land', 'not_a_map', '\\x01'::BLOB, ${START_MS})`,
  );
  old.closeSync();
  instance.closeSync();
  const shard = await openTestShard({ path });
  expect(
    await rowsOf(
      shard,
      'SELECT reason, readings::INTEGER AS readings, len(samples)::INTEGER AS samples, last_ms::INTEGER AS last_ms FROM rejected_reading ORDER BY reason',
    ),
  ).toEqual([
    { reason: 'negative', readings: 50, samples: 20, last_ms: 49_000 },
    { reason: 'null', readings: 30, samples: 0, last_ms: 79_000 },
  ]);
  expect(await rowsOf(shard, 'SELECT stage, reason FROM quarantine')).toEqual([
    { stage: 'land', reason: 'not_a_map' },
  ]);
});
