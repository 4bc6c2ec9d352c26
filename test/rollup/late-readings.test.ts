import { expect, test } from 'vitest';
import { shared } from '../support/shared.ts';
import { openTestShard, rowsOf } from '../warehouse/warehouse-fixture.ts';
import { deviceOf } from './many-streams.ts';
import {
  type CaseReading,
  type EnergySite,
  energyByDay,
  landReadings,
  rollUpSite,
} from './rollup-fixture.ts';

/** Readings that arrive after others were rolled up. */

test('the first values of a sleeping register stay left out after a late reading of a register beside it', {
  tags: ['slow'],
}, async () => {
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

/** The devices of the tests below, in one warehouse with two roll-ups. */
const [inOrder, inParts, fallen] = [deviceOf(1), deviceOf(2), deviceOf(3)];
const fell = [at('00:00', 1_000), at('00:30', 1_003), ...inTime.slice(1, -1)];
const of = (device: string, readings: readonly CaseReading[]) => readings.map((one) => ({ ...one, device }));

const rolledUp = shared(async () => {
  const shard = await openTestShard();
  await landReadings(shard, [...of(inOrder, [...inTime, late]), ...of(inParts, inTime), ...of(fallen, fell)]);
  await rollUpSite(shard, jitterSite);
  const knownMarks = await rowsOf(
    shard,
    `SELECT strftime(make_timestamp_ms(interval_start_ms), '%H:%M') AS clock, last_value
     FROM interval_energy JOIN series USING (series_id)
     WHERE device = '${inParts}' AND interval_energy.last_ms IS NOT NULL ORDER BY clock`,
  );
  const fallenEnergy = await energyByDay(shard, fallen);
  // The fall is before the readings that are computed again, which only grow.
  await landReadings(shard, [...of(inParts, [late]), ...of(fallen, [at('05:00', 1_010)])]);
  await rollUpSite(shard, jitterSite);
  return { shard, knownMarks, fallenEnergy };
});

test('a late reading that is a little above the next ones raises the high-water mark of all intervals until the register is above it', async () => {
  const { shard } = rolledUp();
  const marks = (device: string) =>
    rowsOf(
      shard,
      `SELECT interval_start_ms::DOUBLE AS start_ms, energy_wh::DOUBLE AS wh, last_value
       FROM interval_energy JOIN series USING (series_id)
       WHERE device = '${device}' AND (covered_ms > 0 OR energy_wh <> 0) ORDER BY ALL`,
    );
  expect(await marks(inParts)).toEqual(await marks(inOrder));
  expect(await energyByDay(shard, inParts)).toEqual({ '2026-03-26': 10 });
});

test('only the interval of a reading has its high-water mark', () => {
  const known = inTime.map(({ event_time, data }) => ({
    clock: event_time.slice(11, 16),
    last_value: data.total,
  }));
  expect(rolledUp().knownMarks).toEqual(known);
});

test('a register that fell a little hours ago grows from its high-water mark, and not from its reading', async () => {
  const { shard, fallenEnergy } = rolledUp();
  expect(fallenEnergy).toEqual({ '2026-03-26': 3 });
  expect(await energyByDay(shard, fallen)).toEqual({ '2026-03-26': 10 });
});
