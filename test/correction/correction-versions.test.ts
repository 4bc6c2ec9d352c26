// @module-tag slow
import { expect, test } from 'vitest';
import { DAY_MS } from '../../src/lib/time.ts';
import type { Shard } from '../../src/warehouse/shard.ts';
import { deviceOf } from '../rollup/many-streams.ts';
import { type CaseReading, type EnergySite, landReadings, rollUpSite } from '../rollup/rollup-fixture.ts';
import { isSoak } from '../support/rounds.ts';
import { filledShard, openTestShard, rowsOf } from '../warehouse/warehouse-fixture.ts';
import { correct, daysOf, NOW_MS, stateOf, toldIntervalsOf } from './correction-fixture.ts';

const energy = {
  field: 'energy',
  method: 'total_energy',
  unit: 'Wh',
  maxPower: '10 kW',
  jitter: '1 Wh',
} as const;
const power = { field: 'power', method: 'power_curve', unit: 'W' } as const;
const site: EnergySite = {
  timezone: 'Etc/UTC',
  streams: [
    { table: 't', ...energy },
    { table: 'power', ...power, maxGap: '1h' },
    { table: 'both', ...energy },
    { table: 'both', ...power, maxGap: '24h' },
  ],
};

/** Devices of table `t`: two days of 2400 Wh each, and with a wrong reading on the first. */
const [EVEN, WRONG] = [deviceOf(1), deviceOf(2)];
/** A device of table `power`. */
const SAMPLED = deviceOf(3);
/** Devices of table `both`, the second one without energy at first. */
const [BOTH, LATER] = [deviceOf(4), deviceOf(5)];

const reading = (device: string, time: string, data: CaseReading['data']): CaseReading => ({
  device,
  event_time: `2024-06-${time}:00Z`,
  data,
});
const read = (
  shard: Shard,
  device: string,
  ...values: Array<[time: string, energy: number, msg_id?: number]>
) =>
  landReadings(
    shard,
    values.map(([time, value, msg_id]) => ({
      ...reading(device, time, { energy: value }),
      ...(msg_id !== undefined && { msg_id }),
    })),
  );

/** A warehouse with the readings of all devices, rolled up once: each roll-up costs a third of a second. */
const openPlant = filledShard(async (shard) => {
  await read(shard, EVEN, ['01T00:00', 0], ['02T00:00', 2_400], ['03T00:00', 4_800]);
  await read(shard, WRONG, ['01T00:00', 0], ['01T12:00', 40_000], ['02T00:00', 2_400], ['03T00:00', 4_800]);
  await landReadings(
    shard,
    ['01T10:00', '01T11:00'].map((time) => reading(SAMPLED, time, { power: 1_000 })),
    'power',
  );
  await landReadings(
    shard,
    [
      reading(BOTH, '01T00:00', { energy: 0, power: 1_000 }),
      reading(BOTH, '02T00:00', { energy: 2_400, power: 1_000 }),
      reading(LATER, '01T00:00', { power: 100 }),
      reading(LATER, '02T00:00', { power: 100 }),
    ],
    'both',
  );
  await rollUpSite(shard, site, NOW_MS);
});

const noon = { from: '2024-06-01T12:00:00Z', to: '2024-06-01T12:00:01Z' };

async function historyOf(shard: Shard, device: string) {
  const rows = await rowsOf(
    shard,
    `SELECT day(day)::INTEGER AS day, version, energy_wh::INTEGER AS wh, status, array_to_string(causes, ',') AS causes
     FROM daily_energy_history WHERE device = '${device}' ORDER BY ALL`,
  );
  return rows.map(({ day, version, wh, status, causes }) => [day, version, wh, status, causes]);
}

test('a closed day is restated by a correction, keeps it if days are closed later, and is restated by its undo, each with its cause', async () => {
  const shard = await openPlant();
  const [before] = await historyOf(shard, WRONG);
  expect(before).toEqual([1, 1, expect.any(Number), 'final', 'stream']);
  const wrong = before![2];
  await correct(shard, { kind: 'exclude', ...noon }, { device: WRONG });
  const days = await daysOf(shard, 'default', WRONG);
  await rollUpSite(shard, { ...site, closeAfterMs: 3 * DAY_MS }, NOW_MS + 30 * DAY_MS);
  expect(await daysOf(shard, 'default', WRONG)).toEqual(days);
  await correct(shard, { kind: 'undo', correctionId: 1 });
  expect((await historyOf(shard, WRONG)).filter(([day]) => day === 1)).toEqual([
    [1, 1, wrong, 'final', 'stream'],
    [1, 2, 2_400, 'restated', 'correction'],
    [1, 3, wrong, 'restated', 'correction'],
  ]);
});

// The tests around it have closed days, and days that are closed later.
test.runIf(isSoak)('a day that is not closed keeps its status', async () => {
  const shard = await openTestShard();
  const nowMs = Date.UTC(2024, 5, 2, 12);
  await read(shard, EVEN, ['01T00:00', 0], ['02T00:00', 2_400], ['02T06:00', 3_000]);
  await rollUpSite(shard, site, nowMs);
  await correct(shard, { kind: 'set_day', day: '2024-06-01', energyWh: 3_000 }, { device: EVEN, nowMs });
  expect((await historyOf(shard, EVEN)).filter(([day]) => day === 1)).toEqual([
    [1, 1, 2_400, 'provisional', 'stream'],
    [1, 2, 3_000, 'provisional', 'correction'],
  ]);
  await expect(
    correct(shard, { kind: 'set_day', day: '2024-06-02', energyWh: 1 }, { device: EVEN, nowMs }),
  ).rejects.toThrow(/day: is not over yet/);
});

test('late data change the shape of a set day but never its sum, and count after an undo', async () => {
  const shard = await openPlant();
  await correct(shard, { kind: 'set_day', day: '2024-06-01', energyWh: 4_800 }, { device: EVEN });
  expect((await toldIntervalsOf(shard, 'default', EVEN))['2024-06-01T06:00:00Z']).toBe(50);
  // Until noon 1200 of 2400 Wh, as before; from six on all of them.
  await read(shard, EVEN, ['01T06:00', 0], ['01T12:00', 2_400]);
  await rollUpSite(shard, site, NOW_MS);
  expect((await daysOf(shard, 'default', EVEN)).wh).toMatchObject({ '2024-06-01': 4_800 });
  expect(await toldIntervalsOf(shard, 'default', EVEN)).toMatchObject({
    '2024-06-01T05:45:00Z': 0,
    '2024-06-01T06:00:00Z': 200,
    '2024-06-01T12:00:00Z': 0,
  });
  // The measured day has not changed by them, so that only the correction made a version.
  expect((await historyOf(shard, EVEN)).filter(([day]) => day === 1)).toHaveLength(2);
  await correct(shard, { kind: 'undo', correctionId: 1 });
  expect((await toldIntervalsOf(shard, 'default', EVEN))['2024-06-01T06:00:00Z']).toBe(100);
  expect((await daysOf(shard, 'default', EVEN)).wh).toMatchObject({ '2024-06-01': 2_400 });
});

test('readings that land later in an excluded time are excluded too, and count after an undo', async () => {
  const shard = await openPlant();
  await correct(shard, { kind: 'exclude', ...noon }, { device: WRONG });
  const days = (await daysOf(shard, 'default', WRONG)).wh;
  // A repetition, another value with a higher message id, and a reading beside it.
  await read(shard, WRONG, ['01T12:00', 40_000]);
  expect(await rollUpSite(shard, site, NOW_MS)).toMatchObject({ readings: 0, days: 0 });
  await read(shard, WRONG, ['01T12:00', 1_300, 7]);
  expect(await rollUpSite(shard, site, NOW_MS)).toMatchObject({ readings: 0, days: 0 });
  expect((await daysOf(shard, 'default', WRONG)).wh).toEqual(days);
  const { excluded } = await stateOf(shard);
  expect(excluded).toEqual([{ at_ms: Date.UTC(2024, 5, 1, 12), value: 1_300 }]);
  await correct(shard, { kind: 'undo', correctionId: 1 });
  expect((await stateOf(shard)).excluded).toEqual([]);
  expect((await daysOf(shard, 'default', WRONG)).wh).toEqual(days);
  expect((await toldIntervalsOf(shard, 'default', WRONG))['2024-06-01T11:45:00Z']).toBe(27);
});

test('a day is withdrawn if all its readings are excluded, and returns after an undo', async () => {
  const shard = await openPlant();
  const before = await stateOf(shard);
  expect((await daysOf(shard, 'default', SAMPLED)).wh).toEqual({ '2024-06-01': 1_000 });
  const all = { from: '2024-06-01T00:00:00Z', to: '2024-06-02T00:00:00Z', field: 'power' };
  await correct(shard, { kind: 'exclude', ...all }, { device: SAMPLED });
  expect((await daysOf(shard, 'default', SAMPLED)).wh).toEqual({});
  await correct(shard, { kind: 'undo', correctionId: 1 });
  expect(await stateOf(shard)).toEqual(before);
});

test('in another zone of the workgroup a set day keeps its instants, and the days share it', async () => {
  const shard = await openPlant();
  await correct(shard, { kind: 'set_day', day: '2024-06-01', energyWh: 9_600 }, { device: EVEN });
  // 400 Wh an hour on 1 June of UTC, 100 an hour on 2 June; days of Dubai begin at 20:00, inside a day
  // without readings.
  await rollUpSite(shard, { ...site, timezone: 'Asia/Dubai' }, NOW_MS);
  expect((await daysOf(shard, 'default', EVEN)).wh).toEqual({
    '2024-06-01': 20 * 400,
    '2024-06-02': 4 * 400 + 20 * 100,
    '2024-06-03': 4 * 100,
  });
  expect((await daysOf(shard, 'default', EVEN)).flags).toMatchObject({
    '2024-06-01': ['corrected', 'partial'],
    '2024-06-02': ['corrected', 'estimated'],
    '2024-06-03': ['estimated', 'partial'],
  });
  await rollUpSite(shard, site, NOW_MS);
  expect((await daysOf(shard, 'default', EVEN)).wh).toEqual({ '2024-06-01': 9_600, '2024-06-02': 2_400 });
});

test('a declared source that was set is not missing, and a set day is not contradicted', async () => {
  const shard = await openPlant();
  expect((await daysOf(shard, 'default', BOTH)).flags['2024-06-01']).toContain('contradicted');
  await correct(shard, { kind: 'set_day', day: '2024-06-01', energyWh: 24_000 }, { device: BOTH });
  expect((await daysOf(shard, 'default', BOTH)).flags['2024-06-01']).toEqual(['corrected']);
});

// rollup/versions.test.ts has a stream that is removed and restored.
test.runIf(isSoak)(
  'corrections disappear with the days of a removed stream, and return with the stream',
  async () => {
    const shard = await openPlant();
    await correct(shard, { kind: 'set_day', day: '2024-06-02', energyWh: 9_600 }, { device: WRONG });
    const before = await stateOf(shard);
    const streams: EnergySite['streams'] = [{ table: 't', field: 'other', method: 'power_curve', unit: 'W' }];
    await rollUpSite(shard, { ...site, streams }, NOW_MS);
    expect(await stateOf(shard)).toMatchObject({ days: [], told: [] });
    await rollUpSite(shard, site, NOW_MS);
    expect(await stateOf(shard)).toEqual(before);
  },
);

test('a correction stays in force if the day is read from another method later', async () => {
  const shard = await openPlant();
  const hour = { from: '2024-06-01T10:00:00Z', to: '2024-06-01T11:00:00Z', energyWh: 1_000 };
  await correct(shard, { kind: 'set', ...hour }, { device: LATER });
  expect((await daysOf(shard, 'default', LATER)).wh).toEqual({ '2024-06-01': 2_400 - 100 + 1_000 });
  await landReadings(
    shard,
    [reading(LATER, '01T00:00', { energy: 0 }), reading(LATER, '02T00:00', { energy: 3_360 })],
    'both',
  );
  await rollUpSite(shard, site, NOW_MS);
  expect((await daysOf(shard, 'default', LATER)).wh).toEqual({ '2024-06-01': 3_360 - 140 + 1_000 });
  const methods = await rowsOf(shard, `SELECT method FROM daily_energy WHERE device = '${LATER}'`);
  expect(methods).toEqual([{ method: 'total_energy' }]);
  const told = await rowsOf(
    shard,
    `SELECT sum(i.energy_wh)::DOUBLE AS wh FROM reported_interval i JOIN series s USING (series_id)
     JOIN daily_energy d USING (stream_id, device) WHERE device = '${LATER}'`,
  );
  expect(told).toEqual([{ wh: 4_220 }]);
});
