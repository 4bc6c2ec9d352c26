import { expect, test } from 'vitest';
import type { EnergyStreamInput } from '../../src/config/energy-stream.ts';
import { isSoak } from '../support/rounds.ts';
import { shared } from '../support/shared.ts';
import { openTestShard, rowsOf } from '../warehouse/warehouse-fixture.ts';
import { deviceOf } from './many-streams.ts';
import {
  type CaseReading,
  DEVICE,
  energyByDay,
  energyRows,
  landReadings,
  rollUpSite,
} from './rollup-fixture.ts';

const total: EnergyStreamInput = {
  table: 't',
  field: 'energy',
  method: 'total_energy',
  unit: 'Wh',
  maxPower: '10 kW',
};
const daily: EnergyStreamInput = {
  table: 't',
  field: 'today',
  method: 'daily_energy',
  unit: 'Wh',
  maxPower: '10 kW',
};
const readings = [
  { event_time: '2024-06-01T00:00:00Z', data: { energy: 0, today: 0 } },
  { event_time: '2024-06-01T22:00:00Z', data: { energy: 2200, today: 2100 } },
  { event_time: '2024-06-02T00:00:00Z', data: { energy: 4400, today: 0 } },
];

test('another zone cuts every day again', { tags: ['slow'] }, async () => {
  const shard = await openTestShard();
  await landReadings(shard, readings);
  await rollUpSite(shard, { timezone: 'Etc/UTC', streams: [total] });
  expect(await energyByDay(shard)).toEqual({ '2024-06-01': 4400 });
  // Days of Paris begin at 22:00 UTC: 2200 before it and 2200 after it.
  await rollUpSite(shard, { timezone: 'Europe/Paris', streams: [total] });
  expect(await energyByDay(shard)).toEqual({ '2024-06-01': 2200, '2024-06-02': 2200 });
  // Days of Honolulu begin at 10:00 UTC: 1000 before it on the day before, 1200 and 2200 after it.
  await rollUpSite(shard, { timezone: 'Pacific/Honolulu', streams: [total] });
  expect(await energyByDay(shard)).toEqual({ '2024-05-31': 1000, '2024-06-01': 3400 });
});

// The test above has registers, and rollup-properties.test.ts computes everything again.
test.runIf(isSoak)(
  'another zone gives daily registers and rounded power as if it had always been configured',
  async () => {
    const streams: EnergyStreamInput[] = [
      daily,
      { table: 't', field: 'power', method: 'power_curve', unit: 'W', sampling: 'on_change' },
    ];
    const more = Array.from({ length: 60 }, (_, hour) => ({
      event_time: new Date(Date.UTC(2024, 5, 1, hour)).toISOString(),
      data: { today: (hour % 24) * 100, power: 1.3 * hour },
    }));
    const [moved, always] = [await openTestShard(), await openTestShard()];
    await landReadings(moved, more);
    await rollUpSite(moved, { timezone: 'Asia/Tokyo', streams });
    await rollUpSite(moved, { timezone: 'America/New_York', streams });
    await landReadings(always, more);
    await rollUpSite(always, { timezone: 'America/New_York', streams });
    expect((await energyRows(moved)).days).toEqual((await energyRows(always)).days);
  },
);

test('a stream that is added later reads the kept messages, and another order takes another method', {
  tags: ['slow'],
}, async () => {
  const shard = await openTestShard();
  await landReadings(shard, readings);
  await rollUpSite(shard, { timezone: 'Etc/UTC', streams: [daily] });
  expect(await energyByDay(shard)).toEqual({ '2024-06-01': 2100 });
  await rollUpSite(shard, { timezone: 'Etc/UTC', streams: [total, daily] });
  expect(await energyByDay(shard)).toEqual({ '2024-06-01': 4400 });
  await rollUpSite(shard, { timezone: 'Etc/UTC', streams: [daily, total] });
  expect(await energyByDay(shard)).toEqual({ '2024-06-01': 2100 });
});

// The test above has another order of streams, and versions.test.ts a stream that is removed and restored.
test.runIf(isSoak)(
  'the days of a removed stream are read from the next one, and a restored stream continues at its last batch',
  async () => {
    const shard = await openTestShard();
    await landReadings(shard, readings);
    await rollUpSite(shard, { timezone: 'Etc/UTC', streams: [total, daily] });
    await rollUpSite(shard, { timezone: 'Etc/UTC', streams: [daily] });
    expect(await energyByDay(shard)).toEqual({ '2024-06-01': 2100 });
    await landReadings(shard, [{ event_time: '2024-06-03T00:00:00Z', data: { energy: 6800 } }]);
    await rollUpSite(shard, { timezone: 'Etc/UTC', streams: [daily] });
    await rollUpSite(shard, { timezone: 'Etc/UTC', streams: [total, daily] });
    expect(await energyByDay(shard)).toEqual({ '2024-06-01': 4400, '2024-06-02': 2400 });
  },
);

const { maxPower: _none, ...open } = total;
const quarters = Array.from({ length: 3 * 96 }, (_, quarter) => ({
  event_time: new Date(Date.UTC(2024, 5, 1) + quarter * 900_000).toISOString(),
  // Half a million more on the second day, and it stays.
  data: { energy: 100 * quarter + (quarter < 150 ? 0 : 500_000) },
}));
const learntDays = { '2024-06-01': 9600, '2024-06-02': 9500, '2024-06-03': 9500 };

interface Change {
  readings: readonly CaseReading[];
  before: readonly EnergyStreamInput[];
  after: readonly EnergyStreamInput[];
}

const raisedLimit: Change = {
  readings: [
    { event_time: '2024-06-01T00:00:00Z', data: { energy: 0 } },
    { event_time: '2024-06-01T10:00:00Z', data: { energy: 1000 } },
    { event_time: '2024-06-01T11:00:00Z', data: { energy: 21_000 } },
    { event_time: '2024-06-02T00:00:00Z', data: { energy: 22_000 } },
  ],
  before: [total],
  after: [{ ...total, maxPower: '20 kW' }],
};
const replacedMeter: Change = {
  readings: [
    { event_time: '2024-06-01T00:00:00Z', data: { energy: 5000 } },
    { event_time: '2024-06-01T08:00:00Z', data: { energy: 5800 } },
    { event_time: '2024-06-01T12:00:00Z', data: { energy: 300 } },
    { event_time: '2024-06-02T00:00:00Z', data: { energy: 1500 } },
  ],
  before: [total],
  after: [
    {
      ...total,
      registerChanges: [{ device: deviceOf(1), at: '2024-06-01T10:00:00Z', final: 5950, initial: 100 }],
    },
  ],
};
const otherRules: Change = { readings: quarters, before: [open], after: [open] };

/**
 * Each change has its own table and device. None removes a stream or changes its unit, because that restates
 * all registers.
 */
const changes = [raisedLimit, replacedMeter, otherRules];
const deviceOfChange = (change: Change) => deviceOf(changes.indexOf(change));
const tableOf = (change: Change) => `t${changes.indexOf(change)}`;

/**
 * The results before and after all changes, in one warehouse, because a roll-up of one device takes as long.
 */
const changed = shared(async () => {
  const shard = await openTestShard();
  const rollUpWith = async (settings: 'before' | 'after') => {
    const streams = changes.flatMap((change) =>
      change[settings].map((stream) => ({ ...stream, table: tableOf(change) })),
    );
    await rollUpSite(shard, { timezone: 'Etc/UTC', streams });
    const { days } = await energyRows(shard);
    return Promise.all(
      changes.map(async (change) => {
        const device = `device = '${deviceOfChange(change)}'`;
        return {
          energy: await energyByDay(shard, deviceOfChange(change)),
          days: days.filter((day) => day.device === deviceOfChange(change)),
          events: await rowsOf(
            shard,
            `SELECT kind FROM energy_event JOIN series USING (series_id) WHERE ${device}`,
          ),
          limits: await rowsOf(
            shard,
            `SELECT utc_day, learnt_power_w FROM series_day JOIN series USING (series_id) WHERE ${device} ORDER BY ALL`,
          ),
        };
      }),
    );
  };
  await landReadings(
    shard,
    changes.flatMap((change) =>
      change.readings.map((one) => ({ ...one, table: tableOf(change), device: deviceOfChange(change) })),
    ),
  );
  const before = await rollUpWith('before');
  // A limit that other rules can have learnt.
  const learning = `device = '${deviceOfChange(otherRules)}'`;
  await rowsOf(
    shard,
    `UPDATE energy_stream SET settings = json_merge_patch(settings, '{"rules":1}')
     WHERE stream_id IN (SELECT stream_id FROM series WHERE ${learning})`,
  );
  await rowsOf(
    shard,
    `UPDATE series_day SET power_w = 1e9, learnt_power_w = 1e9
     WHERE series_id IN (SELECT series_id FROM series WHERE ${learning})`,
  );
  const after = await rollUpWith('after');
  return { before, after };
});
const resultsOf = (change: Change) => {
  const index = changes.indexOf(change);
  return { before: changed().before[index]!, after: changed().after[index]! };
};

test('a raised limit books energy that was refused', () => {
  const { before, after } = resultsOf(raisedLimit);
  expect(before.energy).toEqual({ '2024-06-01': 2000 });
  expect(after.energy).toEqual({ '2024-06-01': 22_000 });
  expect(after.events).toEqual([]);
});

test('a replaced meter that is declared afterwards is believed', () => {
  const { before, after } = resultsOf(replacedMeter);
  // The reset is taken to have started at zero: 800 + 300 + 1200.
  expect(before.energy).toEqual({ '2024-06-01': 2300 });
  // 800 + (5950-5800) + (300-100) + 1200.
  expect(after.energy).toEqual({ '2024-06-01': 2350 });
});

/**
 * A device whose stream of power is removed, and one whose register has another unit, which is a new stream
 * in place of a removed one.
 */
const withRemoved = shared(async () => {
  const shard = await openTestShard();
  const power: EnergyStreamInput = {
    table: 't',
    field: 'power',
    method: 'power_curve',
    unit: 'W',
    maxGap: '1d',
  };
  const silent: CaseReading[] = [
    { event_time: '2024-06-01T12:00:00Z', data: { energy: 0, power: 0 } },
    { event_time: '2024-06-02T00:00:00Z', data: { power: 0 } },
    { event_time: '2024-06-02T01:00:00Z', data: { power: 2000 } },
    { event_time: '2024-06-02T12:00:00Z', data: { energy: 2400, power: 0 } },
  ];
  const inWh: EnergyStreamInput = { ...total, table: 'u' };
  await landReadings(shard, silent);
  await landReadings(
    shard,
    readings.map((reading) => ({ ...reading, device: deviceOf(2) })),
    'u',
  );
  await rollUpSite(shard, { timezone: 'Etc/UTC', streams: [inWh, total, power] });
  const shaped = await energyByDay(shard, DEVICE);
  const inKwh = { ...inWh, unit: 'kWh', maxPower: '10 MW' };
  await rollUpSite(shard, { timezone: 'Etc/UTC', streams: [inKwh, total] });
  return {
    shaped,
    even: await energyByDay(shard, DEVICE),
    ofOtherUnit: await energyByDay(shard, deviceOf(2)),
  };
});

test('another unit reads the values again', () => {
  expect(withRemoved().ofOtherUnit).toEqual({ '2024-06-01': 4_400_000 });
});

test('a stream that is removed no longer shapes the silence of the register beside it', () => {
  expect(withRemoved().shaped).toEqual({ '2024-06-01': 0, '2024-06-02': 2400 });
  expect(withRemoved().even).toEqual({ '2024-06-01': 1200, '2024-06-02': 1200 });
});

test('limits that other rules have learnt are learnt again', () => {
  const { before, after } = resultsOf(otherRules);
  expect(before.energy).toEqual(learntDays);
  expect(after.limits).toEqual(before.limits);
  expect(after.days).toEqual(before.days);
});

// The tests above learn the same limits, and have a limit that is raised.
test.runIf(isSoak)('a limit that is removed is learnt from all readings', async () => {
  const learning = { timezone: 'Etc/UTC', streams: [open] };
  const [removed, always] = [await openTestShard(), await openTestShard()];
  await landReadings(removed, quarters);
  await rollUpSite(removed, { timezone: 'Etc/UTC', streams: [total] });
  await rollUpSite(removed, learning);
  await landReadings(always, quarters);
  await rollUpSite(always, learning);
  expect((await energyRows(removed)).days).toEqual((await energyRows(always)).days);
  expect(await energyByDay(removed)).toEqual(learntDays);
});
