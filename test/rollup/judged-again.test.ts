// @module-tag slow
import { expect, test } from 'vitest';
import { sampled } from '../support/rounds.ts';
import { openTestShard, rowsOf } from '../warehouse/warehouse-fixture.ts';
import { type EnergySite, energyByDay, landReadings, rollUpSite } from './rollup-fixture.ts';

const site: EnergySite = {
  timezone: 'Etc/UTC',
  streams: [{ table: 't', field: 'total', method: 'total_energy', maxPower: '10 kW', jitter: '1 Wh' }],
};
const at = (time: string, total: number, day = '26') => ({
  event_time: `2026-03-${day}T${time}:00Z`,
  data: { total },
});
/** Earlier readings, so that the late ones are not at the beginning of the series. */
const dayBefore = [at('00:00', 900_000, '25'), at('12:00', 950_000, '25'), at('18:00', 970_000, '25')];

/** The register shows the same from 06:00 to 10:00, then 60 kWh more, and continues. */
const stands = [
  at('00:00', 990_000),
  at('06:00', 1_000_000),
  at('08:00', 1_000_000),
  at('10:00', 1_000_000),
  at('10:05', 1_060_000),
  ...Array.from({ length: 12 }, (_, hour) => at(`${hour + 11}:00`, 1_060_100 + hour * 100)),
];
/** Says that it has stood still since 02:00, so that 60 kWh are possible. */
const late = at('02:00', 1_000_000);

test.each(
  sampled<[string, ReturnType<typeof at>[]]>(
    [
      ['later', [...dayBefore, ...stands]],
      ['at the beginning of a series', stands],
    ],
    2,
  ),
)(
  'a rise is judged again where a late reading says how long the register had stood still, though no break changes: %s',
  async (_when, readings) => {
    const events =
      'SELECT kind, from_ms::DOUBLE AS from_ms, to_ms::DOUBLE AS to_ms FROM energy_event ORDER BY ALL';
    const inOrder = await openTestShard();
    await landReadings(inOrder, [...readings, late]);
    await rollUpSite(inOrder, site);
    const shard = await openTestShard();
    await landReadings(shard, readings);
    await rollUpSite(shard, site);
    const before = await rowsOf(shard, events);
    await landReadings(shard, [late]);
    await rollUpSite(shard, site);
    expect(await rowsOf(shard, events)).toEqual(await rowsOf(inOrder, events));
    expect(await rowsOf(shard, events)).not.toEqual(before);
    expect(await energyByDay(shard)).toEqual(await energyByDay(inOrder));
  },
);
