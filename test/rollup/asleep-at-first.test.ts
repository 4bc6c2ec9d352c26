import { expect, test } from 'vitest';
import { openTestShard, rowsOf } from '../warehouse/support.ts';
import { energyByDay, landReadings, rollUpSite } from './support.ts';

test('the first values of a sleeping register stay left out after a late reading of a register beside it', async () => {
  const shard = await openTestShard();
  const site = {
    timezone: 'Etc/UTC',
    streams: [
      { table: 't', field: 'total', method: 'total_energy', unit: 'Wh', maxPower: '8 kW' },
      { table: 't', field: 'today', method: 'daily_energy', unit: 'Wh', maxPower: '8 kW' },
    ],
  } as const;
  const land = async (...readings: Array<[time: string, data: Record<string, number>]>) => {
    await landReadings(
      shard,
      readings.map(([time, data]) => ({ event_time: `2026-03-26T${time}:00Z`, data })),
    );
    await rollUpSite(shard, site);
  };
  await land(['06:15', { total: 0 }], ['06:35', { total: 500_002 }], ['20:20', { total: 0 }]);
  await land(['09:15', { total: 500_037 }]);
  const asleep = `SELECT kind, from_ms = to_ms AS alone FROM energy_event WHERE kind = 'glitch'`;
  expect(await rowsOf(shard, asleep)).toEqual([{ kind: 'glitch', alone: true }]);
  // This makes the lifetime register be looked at again, from the quarter of an hour after what it showed at first.
  await land(['06:30', { today: 2 }]);
  expect(await rowsOf(shard, asleep)).toEqual([{ kind: 'glitch', alone: true }]);
  expect(await energyByDay(shard)).toEqual({ '2026-03-26': 35 });
});
