import { expect, test } from 'vitest';
import { HOUR_MS } from '../../src/lib/time.ts';
import { openTestShard, rowsOf } from '../warehouse/warehouse-fixture.ts';
import { type EnergySite, energyByDay, landReadings, rollUpSite } from './rollup-fixture.ts';

const site: EnergySite = {
  timezone: 'Etc/UTC',
  streams: [{ table: 't', field: 'total', method: 'total_energy', maxPower: '10 kW', jitter: '1 Wh' }],
};
const START_MS = Date.UTC(2026, 2, 25);
/** A reading of one of two registers that send under one name, an hour after the other. */
const reading = (hour: number, register: 'low' | 'high') => ({
  event_time: new Date(START_MS + hour * HOUR_MS).toISOString(),
  data: { total: (register === 'low' ? 1_000 : 900_000) + hour },
});

test('a late reading that changes the meaning of more breaks than are judged at first changes all of them', async () => {
  // The register that came first is believed, and each reading of the other one is left out.
  const readings = Array.from({ length: 60 }, (_, hour) => reading(hour, hour % 2 === 0 ? 'low' : 'high'));
  const late = [reading(-2, 'high'), reading(-1, 'high')];
  const events =
    'SELECT kind, from_ms::DOUBLE AS from_ms, to_ms::DOUBLE AS to_ms FROM energy_event ORDER BY ALL';
  const inOrder = await openTestShard();
  await landReadings(inOrder, [...late, ...readings]);
  await rollUpSite(inOrder, site);
  const shard = await openTestShard();
  await landReadings(shard, readings);
  await rollUpSite(shard, site);
  const before = await rowsOf(shard, events);
  await landReadings(shard, late);
  await rollUpSite(shard, site);
  expect(await rowsOf(shard, events)).toEqual(await rowsOf(inOrder, events));
  expect(await energyByDay(shard)).toEqual(await energyByDay(inOrder));
  // None of the breaks means the same as before.
  expect(before.length).toBeGreaterThan(20);
  expect(
    (await rowsOf(shard, events)).filter((event) => before.some((one) => one.to_ms === event.to_ms)),
  ).toEqual([]);
});
