import { expect, test } from 'vitest';
import { openTestShard, rowsOf } from '../warehouse/support.ts';
import { energyByDay, landReadings, rollUpSite } from './support.ts';

const site = {
  timezone: 'Etc/UTC',
  streams: [{ table: 't', field: 'e', method: 'total_energy', unit: 'Wh' }],
} as const;
const at = (time: string, e: number) => ({ event_time: `2026-11-18T${time}:00Z`, data: { e } });

test('readings that do not count are kept aside, whichever came when', async () => {
  const shard = await openTestShard();
  // In one roll-up: a repetition and a revision.
  await landReadings(shard, [at('01:00', 100), at('02:00', 140), at('02:00', 140), at('02:00', 150)]);
  await rollUpSite(shard, site);
  // Later: a repetition and a revision of what is stored.
  await landReadings(shard, [at('01:00', 100), at('02:00', 160)]);
  await rollUpSite(shard, site);
  expect(await energyByDay(shard)).toEqual({ '2026-11-18': 60 });
  const columns = 'event_time_ms // 3600000 % 24 AS hour, value, batch_id::INTEGER AS batch';
  expect(await rowsOf(shard, `SELECT ${columns} FROM superseded_reading ORDER BY ALL`)).toEqual([
    { hour: 1n, value: 100, batch: 2 },
    { hour: 2n, value: 140, batch: 1 },
    { hour: 2n, value: 140, batch: 1 },
    { hour: 2n, value: 150, batch: 1 },
  ]);
  expect(await rowsOf(shard, `SELECT ${columns} FROM reading ORDER BY ALL`)).toEqual([
    { hour: 1n, value: 100, batch: 1 },
    { hour: 2n, value: 160, batch: 2 },
  ]);
});
