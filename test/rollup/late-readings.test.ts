import { expect, test } from 'vitest';
import { openTestShard, rowsOf } from '../warehouse/warehouse-fixture.ts';
import { type EnergySite, energyByDay, landReadings, rollUpSite } from './rollup-fixture.ts';

/** Readings that arrive after others were rolled up. */

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
  // After this reading the lifetime register is computed again from 06:30 on, which is after its first value.
  await land(['06:30', { today: 2 }]);
  expect(await rowsOf(shard, asleep)).toEqual([{ kind: 'glitch', alone: true }]);
  expect(await energyByDay(shard)).toEqual({ '2026-03-26': 35 });
});

const jitterSite: EnergySite = {
  timezone: 'Etc/UTC',
  streams: [{ table: 't', field: 'total', method: 'total_energy', maxPower: '10 kW', jitter: '3 Wh' }],
};
const at = (time: string, total: number) => ({ event_time: `2026-03-26T${time}:00Z`, data: { total } });

/**
 * For four hours the register shows 2 Wh less than the late reading. That is longer than the neighbours that
 * are computed again after a change.
 */
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
  await rollUpSite(inOrder, jitterSite);
  const shard = await openTestShard();
  await landReadings(shard, inTime);
  await rollUpSite(shard, jitterSite);
  await landReadings(shard, [late]);
  await rollUpSite(shard, jitterSite);
  expect(await rowsOf(shard, marks)).toEqual(await rowsOf(inOrder, marks));
  expect(await energyByDay(shard)).toEqual({ '2026-03-26': 10 });
});

test('only the interval of a reading has its high-water mark', async () => {
  const shard = await openTestShard();
  await landReadings(shard, inTime);
  await rollUpSite(shard, jitterSite);
  const marks = await rowsOf(
    shard,
    `SELECT strftime(make_timestamp_ms(interval_start_ms), '%H:%M') AS clock, last_value FROM interval_energy
     WHERE last_ms IS NOT NULL ORDER BY clock`,
  );
  const known = inTime.map(({ event_time, data }) => ({
    clock: event_time.slice(11, 16),
    last_value: data.total,
  }));
  expect(marks).toEqual(known);
});

test('a register that fell a little hours ago grows from its high-water mark, and not from its reading', async () => {
  const shard = await openTestShard();
  await landReadings(shard, [at('00:00', 1_000), at('00:30', 1_003), ...inTime.slice(1, -1)]);
  await rollUpSite(shard, jitterSite);
  expect(await energyByDay(shard)).toEqual({ '2026-03-26': 3 });
  // The fall is before the readings that are computed again, which only grow.
  await landReadings(shard, [at('05:00', 1_010)]);
  await rollUpSite(shard, jitterSite);
  expect(await energyByDay(shard)).toEqual({ '2026-03-26': 10 });
});
