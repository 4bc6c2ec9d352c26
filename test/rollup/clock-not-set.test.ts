import { expect, test } from 'vitest';
import { openTestShard, rowsOf } from '../warehouse/support.ts';
import { energyByDay, landReadings, rollUpSite } from './support.ts';

test('a reading of a clock that was never set is set aside, and not spread over decades', async () => {
  const shard = await openTestShard();
  const data = (energy: number) => ({ energy });
  await landReadings(shard, [
    { event_time: '1970-01-01T00:00:05Z', data: data(1) },
    { event_time: '2000-01-01T00:03:00Z', data: data(2) },
    { event_time: '2026-06-01T00:00:00Z', data: data(10) },
    { event_time: '2026-06-01T12:00:00Z', data: data(15) },
  ]);
  const streams = [{ table: 't', field: 'energy', method: 'total_energy', unit: 'kWh' }] as const;
  const result = await rollUpSite(shard, { timezone: 'Etc/UTC', streams });
  expect(result.rejected).toBe(2);
  expect(await energyByDay(shard)).toEqual({ '2026-06-01': 5_000 });
  const reasons = await rowsOf(shard, 'SELECT DISTINCT reason FROM rejected_reading');
  expect(reasons).toEqual([{ reason: 'clock_not_set' }]);
});
