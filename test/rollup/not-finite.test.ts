// @module-tag slow
import { expect, test } from 'vitest';
import { openTestShard, rowsOf } from '../warehouse/warehouse-fixture.ts';
import { energyByDay, landReadings, rollUpSite } from './rollup-fixture.ts';

test('numbers that are not finite, as floats of the wire, are set aside and poison no sum', async () => {
  const shard = await openTestShard();
  const values = [1_000, Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 3_000];
  await landReadings(
    shard,
    values.map((value, index) => ({
      event_time: new Date(Date.UTC(2024, 5, 1, index)).toISOString(),
      data: { energy: value, power: value },
    })),
  );
  const result = await rollUpSite(shard, {
    timezone: 'Etc/UTC',
    streams: [
      { table: 't', field: 'energy', method: 'total_energy', maxPower: '10 kW' },
      { table: 't', field: 'power', method: 'power_curve', maxGap: '4h' },
    ],
  });
  expect(result.rejected).toBe(6);
  expect(await energyByDay(shard)).toEqual({ '2024-06-01': 2_000 });
  // (1000 + 3000) / 2 W over 4 h.
  const sums = await rowsOf(shard, 'SELECT sum(exact_nwh)::DOUBLE / 1e9 AS wh FROM interval_energy');
  expect(sums).toEqual([{ wh: 8_000 }]);
  expect(await rowsOf(shard, 'SELECT DISTINCT reason FROM rejected_reading')).toEqual([
    { reason: 'not_finite' },
  ]);
});
