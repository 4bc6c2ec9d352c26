import { expect, test } from 'vitest';
import { openTestShard, rowsOf } from '../warehouse/support.ts';
import { type EnergySite, energyByDay, landReadings, rollUpSite } from './support.ts';

const site: EnergySite = {
  timezone: 'Etc/UTC',
  streams: [{ table: 't', field: 'total', method: 'total_energy', maxPower: '10 kW', jitter: '3 Wh' }],
};
const at = (time: string, total: number) => ({ event_time: `2026-03-26T${time}:00Z`, data: { total } });

/** After the late reading the register is two less than it, for longer than the neighbours of a change are computed again. */
const inTime = [
  at('00:00', 1_000),
  ...['01', '02', '03', '04'].map((hour) => at(`${hour}:00`, 1_001)),
  at('05:00', 1_010),
];
const late = at('00:30', 1_003);

test('a late reading that is a little above the next ones raises the high-water mark of all intervals until the register is above it', async () => {
  const marks = `SELECT interval_start_ms::DOUBLE AS start_ms, energy_wh::DOUBLE AS wh, last_value FROM interval_energy
    WHERE covered_ms > 0 OR energy_wh <> 0 ORDER BY ALL`;
  const inOrder = await openTestShard();
  await landReadings(inOrder, [...inTime, late]);
  await rollUpSite(inOrder, site);
  const shard = await openTestShard();
  await landReadings(shard, inTime);
  await rollUpSite(shard, site);
  await landReadings(shard, [late]);
  await rollUpSite(shard, site);
  expect(await rowsOf(shard, marks)).toEqual(await rowsOf(inOrder, marks));
  expect(await energyByDay(shard)).toEqual({ '2026-03-26': 10 });
});
