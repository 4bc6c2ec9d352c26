// @module-tag slow
import { expect, test } from 'vitest';
import type { Shard } from '../../src/warehouse/shard.ts';
import { openTestShard, rowsOf } from '../warehouse/warehouse-fixture.ts';
import { DEVICE, type EnergySite, landReadings, rollUpSite } from './rollup-fixture.ts';

const undeclared: EnergySite = {
  timezone: 'Etc/UTC',
  streams: [{ table: 't', field: 'energy', method: 'total_energy', maxPower: '10 kW' }],
};
const declared: EnergySite = { ...undeclared, devices: [{ id: DEVICE, sources: ['a', 'b'] }] };
const read = (shard: Shard, source: string, ...values: Array<[time: string, energy: number]>) =>
  landReadings(
    shard,
    values.map(([time, energy]) => ({ event_time: `2024-06-${time}T00:00:00Z`, source, data: { energy } })),
  );

/** Day of the month, source, whether it is flagged, and version, of each day. */
async function daysOf(shard: Shard) {
  const rows = await rowsOf(
    shard,
    'SELECT day(day)::INTEGER AS day, source, flags & 256 > 0 AS incomplete, version FROM daily_energy ORDER BY ALL',
  );
  return rows.map(({ day, source, incomplete, version }) => [day, source, incomplete, version]);
}

test('a day is incomplete until each declared source has energy', async () => {
  const shard = await openTestShard();
  await read(shard, 'a', ['01', 0], ['02', 1000], ['03', 2000]);
  await read(shard, 'b', ['01', 0], ['02', 500]);
  await read(shard, 'total', ['01', 0], ['02', 1500], ['03', 3000]);
  await rollUpSite(shard, declared);
  expect(await daysOf(shard)).toEqual([
    [1, 'a', false, 1],
    [1, 'b', false, 1],
    [1, 'total', false, 1],
    [2, 'a', true, 1],
    [2, 'total', false, 1],
  ]);
  await read(shard, 'b', ['03', 1000]);
  await rollUpSite(shard, declared);
  expect(await daysOf(shard)).toEqual([
    [1, 'a', false, 1],
    [1, 'b', false, 1],
    [1, 'total', false, 1],
    [2, 'a', false, 2],
    [2, 'b', false, 1],
    [2, 'total', false, 1],
  ]);
});

test('declaring the sources of a device afterwards looks at all its days again', async () => {
  const shard = await openTestShard();
  await read(shard, 'a', ['01', 0], ['02', 1000]);
  await rollUpSite(shard, undeclared);
  expect(await daysOf(shard)).toEqual([[1, 'a', false, 1]]);
  await rollUpSite(shard, declared);
  expect(await daysOf(shard)).toEqual([[1, 'a', true, 2]]);
  expect(await rollUpSite(shard, declared)).toMatchObject({ days: 0 });
  await rollUpSite(shard, undeclared);
  expect(await daysOf(shard)).toEqual([[1, 'a', false, 3]]);
});
