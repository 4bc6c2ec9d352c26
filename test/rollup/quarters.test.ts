// @module-tag slow
import { expect, test } from 'vitest';
import { openTestShard, rowsOf } from '../warehouse/warehouse-fixture.ts';
import { landReadings, rollUpSite } from './rollup-fixture.ts';

test('a quarter of an hour tells the least power of growing registers, and the most that two samples of power agree on', async () => {
  const shard = await openTestShard();
  const streams = [
    { table: 't', field: 'total', method: 'total_energy' },
    { table: 't', field: 'power', method: 'power_curve', sampling: 'instantaneous' },
    { table: 't', field: 'quarter', method: 'interval_energy' },
  ] as const;
  const values = [
    { total: 1_000, power: 500, quarter: 50 },
    { total: 1_020, power: -900, quarter: 20 },
    // The way back from a fall is the growth since before it, 25 Wh in two minutes.
    { total: 990, power: -700, quarter: -30 },
    { total: 1_045, power: 100, quarter: 40 },
    { total: 1_045, power: 100, quarter: 10 },
  ];
  await landReadings(
    shard,
    values.map((data, index) => ({
      event_time: new Date(Date.UTC(2026, 10, 20, 10, 2 * index)).toISOString(),
      data,
    })),
  );
  await rollUpSite(shard, { timezone: 'Etc/UTC', streams });
  const rows = await rowsOf(
    shard,
    `SELECT identity->>'field' AS field, power_w, q.resolution, steps_ms::INTEGER AS steps_ms, step_count, change_count
     FROM series_quarter q JOIN series USING (series_id) JOIN energy_stream USING (stream_id) ORDER BY stream_id`,
  );
  const steps = { steps_ms: 480_000, step_count: 4 };
  expect(rows).toEqual([
    { field: 'total', power_w: 600, resolution: 1, ...steps, change_count: 3 },
    { field: 'power', power_w: 700, resolution: 200, ...steps, change_count: 3 },
    { field: 'quarter', power_w: 900, resolution: 70, ...steps, change_count: 4 },
  ]);
});
