import { expect, test } from 'vitest';
import type { Shard } from '../../src/warehouse/shard.ts';
import { isSoak } from '../support/rounds.ts';
import { openTestShard, rowsOf } from '../warehouse/warehouse-fixture.ts';
import { type EnergySite, energyByDay, landReadings, rollUpSite } from './rollup-fixture.ts';

const site: EnergySite = {
  timezone: 'Etc/UTC',
  streams: [{ table: 't', field: 'energy', method: 'total_energy', unit: 'Wh', maxPower: '10 kW' }],
  closeAfterMs: 2 * 86_400_000,
};
const at = (text: string) => Date.parse(`2024-06-${text}:00Z`);
const read = (shard: Shard, ...values: Array<[time: string, energy: number]>) =>
  landReadings(
    shard,
    values.map(([time, energy]) => ({ event_time: `2024-06-${time}:00Z`, data: { energy } })),
  );

/** Day of the month, version, status and Wh of each day. */
async function daysOf(shard: Shard) {
  const rows = await rowsOf(
    shard,
    'SELECT day(day)::INTEGER AS day, version, status, energy_wh::INTEGER AS wh FROM daily_energy ORDER BY day',
  );
  return rows.map(({ day, version, status, wh }) => [day, version, status, wh]);
}

async function historyOf(shard: Shard) {
  const rows = await rowsOf(
    shard,
    'SELECT day(day)::INTEGER AS day, version, energy_wh::INTEGER AS wh FROM daily_energy_history ORDER BY ALL',
  );
  return rows.map(({ day, version, wh }) => [day, version, wh]);
}

test('rolling up again, and repeated readings, make no new version', { tags: ['slow'] }, async () => {
  const shard = await openTestShard();
  await read(shard, ['01T00:00', 0], ['02T00:00', 2400], ['03T00:00', 4800]);
  await rollUpSite(shard, site, at('03T12:00'));
  const days = await daysOf(shard);
  expect(days).toEqual([
    [1, 1, 'provisional', 2400],
    [2, 1, 'provisional', 2400],
  ]);
  expect(await rollUpSite(shard, site, at('03T13:00'))).toMatchObject({ readings: 0, days: 0 });
  await read(shard, ['02T00:00', 2400], ['01T00:00', 0]);
  expect(await rollUpSite(shard, site, at('03T13:00'))).toMatchObject({ readings: 0, days: 0 });
  expect(await daysOf(shard)).toEqual(days);
  expect(await historyOf(shard)).toEqual([
    [1, 1, 2400],
    [2, 1, 2400],
  ]);
});

// The test above has readings that change nothing.
test.runIf(isSoak)('a late reading that equals the interpolated value makes no new version', async () => {
  const shard = await openTestShard();
  await read(shard, ['01T00:00', 0], ['02T00:00', 2400]);
  await rollUpSite(shard, site, at('05T00:00'));
  await read(shard, ['01T12:00', 1200]);
  expect(await rollUpSite(shard, site, at('05T01:00'))).toMatchObject({ readings: 1, days: 0 });
  expect(await daysOf(shard)).toEqual([[1, 1, 'final', 2400]]);
});

test('a late reading gives the days that it changes one new version each, however many intervals it moves', async () => {
  const shard = await openTestShard();
  await read(
    shard,
    ['01T00:00', 0],
    ['01T12:00', 1200],
    ['02T12:00', 3600],
    ['03T00:00', 4800],
    ['04T00:00', 7200],
  );
  await rollUpSite(shard, site, at('10T00:00'));
  await read(shard, ['02T00:00', 1500]);
  expect(await rollUpSite(shard, site, at('10T01:00'))).toMatchObject({ days: 2 });
  expect(await daysOf(shard)).toEqual([
    [1, 2, 'restated', 1500],
    [2, 2, 'restated', 3300],
    [3, 1, 'final', 2400],
  ]);
  expect(await historyOf(shard)).toEqual([
    [1, 1, 2400],
    [1, 2, 1500],
    [2, 1, 2400],
    [2, 2, 3300],
    [3, 1, 2400],
  ]);
});

test('a day that is not over keeps its version while it grows, and its history begins with its value at its end', {
  tags: ['slow'],
}, async () => {
  const shard = await openTestShard();
  await read(shard, ['01T00:00', 0], ['01T06:00', 600]);
  await rollUpSite(shard, site, at('01T06:01'));
  await read(shard, ['01T12:00', 1200]);
  await rollUpSite(shard, site, at('01T12:01'));
  expect(await daysOf(shard)).toEqual([[1, 1, 'provisional', 1200]]);
  expect(await historyOf(shard)).toEqual([]);
  await rollUpSite(shard, site, at('02T00:01'));
  await read(shard, ['01T18:00', 1900]);
  await rollUpSite(shard, site, at('02T01:00'));
  expect(await daysOf(shard)).toEqual([[1, 2, 'provisional', 1900]]);
  expect(await historyOf(shard)).toEqual([
    [1, 1, 1200],
    [1, 2, 1900],
  ]);
});

test('a day is provisional until closeAfter has passed, then final, and restated by later data', async () => {
  const shard = await openTestShard();
  await read(shard, ['01T00:00', 0], ['02T00:00', 2400]);
  await rollUpSite(shard, site, at('02T00:01'));
  expect(await daysOf(shard)).toEqual([[1, 1, 'provisional', 2400]]);
  await rollUpSite(shard, site, at('03T23:59'));
  expect(await daysOf(shard)).toEqual([[1, 1, 'provisional', 2400]]);
  await rollUpSite(shard, site, at('04T00:00'));
  expect(await daysOf(shard)).toEqual([[1, 1, 'final', 2400]]);
  await read(shard, ['02T00:00', 2500]);
  await rollUpSite(shard, site, at('05T00:00'));
  expect(await daysOf(shard)).toEqual([[1, 2, 'restated', 2500]]);
  await read(shard, ['02T00:00', 2600]);
  await rollUpSite(shard, site, at('06T00:00'));
  expect(await daysOf(shard)).toEqual([[1, 3, 'restated', 2600]]);
});

// Golden cases have the reset and the glitch, and rollup-properties.test.ts compares parts with the whole.
test.runIf(isSoak)(
  'late data repair a fault: a reset becomes a glitch when later readings continue the series',
  async () => {
    const shard = await openTestShard();
    await read(shard, ['01T00:00', 100_000], ['01T12:00', 101_200], ['01T12:10', 40], ['02T00:00', 90]);
    await rollUpSite(shard, site, at('10T00:00'));
    expect(await energyByDay(shard)).toEqual({ '2024-06-01': 1_290 });
    await read(shard, ['02T01:00', 102_500], ['03T00:00', 104_800]);
    await rollUpSite(shard, site, at('10T01:00'));
    // From 101200 at 12:00 to 102500 at 01:00: 1200 of the 1300 Wh until midnight.
    expect(await daysOf(shard)).toEqual([
      [1, 2, 'restated', 2400],
      [2, 1, 'final', 2400],
    ]);
  },
);

test('a day that loses its energy is withdrawn, and its versions continue when the energy returns', {
  tags: ['slow'],
}, async () => {
  const shard = await openTestShard();
  const power: EnergySite = {
    ...site,
    streams: [{ table: 't', field: 'power', method: 'power_curve', unit: 'W', sampling: 'on_change' }],
  };
  const sample = (time: string, value: number | string, msgId: number) =>
    landReadings(shard, [{ event_time: `2024-06-${time}:00Z`, msg_id: msgId, data: { power: value } }]);
  await sample('01T10:00', 100, 1);
  await sample('01T20:00', 0, 2);
  await rollUpSite(shard, power, at('10T00:00'));
  expect(await daysOf(shard)).toEqual([[1, 1, 'final', 1000]]);
  const none: EnergySite = { ...power, streams: [] };
  await rollUpSite(shard, none, at('10T01:00'));
  expect(await daysOf(shard)).toEqual([]);
  await rollUpSite(shard, power, at('10T02:00'));
  expect((await daysOf(shard)).map(([day, version, , wh]) => [day, version, wh])).toEqual([[1, 3, 1000]]);
  expect(await historyOf(shard)).toEqual([
    [1, 1, 1000],
    [1, 2, null],
    [1, 3, 1000],
  ]);
});

async function causesOf(shard: Shard) {
  const rows = await rowsOf(
    shard,
    `SELECT day(day)::INTEGER AS day, version, status, array_to_string(causes, ' ') AS causes
     FROM daily_energy_history ORDER BY day, version`,
  );
  return rows.map(({ day, version, status, causes }) => [day, version, status, causes]);
}

test('a version has the status of the day and its causes', { tags: ['slow'] }, async () => {
  const shard = await openTestShard();
  await read(shard, ['01T00:00', 0], ['02T00:00', 2400]);
  await rollUpSite(shard, site, at('02T01:00'));
  await read(shard, ['01T18:00', 1900], ['01T06:00', 100], ['03T00:00', 4800]);
  await rollUpSite(shard, site, at('03T01:00'));
  await rollUpSite(shard, site, at('09T00:00'));
  await read(shard, ['02T00:00', 2500]);
  await rollUpSite(shard, site, at('09T01:00'));
  const other = { ...site, streams: [{ ...site.streams[0]!, multiplier: 2 }] };
  await rollUpSite(shard, other, at('09T02:00'));
  await rollUpSite(shard, { ...other, timezone: 'Europe/Paris' }, at('09T03:00'));
  expect(await causesOf(shard)).toEqual([
    [1, 1, 'provisional', 'stream'],
    [1, 2, 'restated', 'stream'],
    [1, 3, 'restated', 'configuration'],
    [1, 4, 'restated', 'zone'],
    [2, 1, 'provisional', 'stream'],
    [2, 2, 'restated', 'stream'],
    [2, 3, 'restated', 'configuration'],
    [2, 4, 'restated', 'zone'],
    [3, 1, 'final', 'zone'],
  ]);
});

test('a version that a setting and late readings change has both causes, and a first version only its readings', {
  tags: ['slow'],
}, async () => {
  const shard = await openTestShard();
  await read(shard, ['01T00:00', 0], ['02T00:00', 2400]);
  await rollUpSite(shard, site, at('09T00:00'));
  const late = { event_time: '2024-06-03T00:00:00Z', data: { energy: 4800 } };
  await landReadings(shard, [late], 't', 'import:0a1b:7');
  await rollUpSite(shard, { ...site, streams: [{ ...site.streams[0]!, multiplier: 2 }] }, at('09T01:00'));
  expect(await causesOf(shard)).toEqual([
    [1, 1, 'final', 'stream'],
    [1, 2, 'restated', 'configuration import'],
    [2, 1, 'final', 'import'],
  ]);
});

test('a version names the origins of the readings that changed the day', { tags: ['slow'] }, async () => {
  const shard = await openTestShard();
  const readBy = (origin: string, ...values: Array<[time: string, energy: number]>) =>
    landReadings(
      shard,
      values.map(([time, energy]) => ({ event_time: `2024-06-${time}:00Z`, data: { energy } })),
      't',
      origin,
    );
  await read(
    shard,
    ['01T00:00', 0],
    ['01T12:00', 1200],
    ['02T12:00', 3600],
    ['03T12:00', 6000],
    ['04T12:00', 8400],
  );
  await rollUpSite(shard, site, at('09T00:00'));
  await readBy('import:0a1b:7', ['02T00:00', 2500]);
  await rollUpSite(shard, site, at('09T01:00'));
  await readBy('backfill:3:0', ['03T00:00', 4900]);
  await rollUpSite(shard, site, at('09T02:00'));
  await readBy('archive:4', ['04T00:00', 7300]);
  await rollUpSite(shard, site, at('09T03:00'));
  await readBy('import:0a1b:8', ['05T00:00', 9700]);
  await read(shard, ['05T06:00', 10_000], ['05T12:00', 10_900]);
  await rollUpSite(shard, site, at('09T04:00'));
  expect(await causesOf(shard)).toEqual([
    [1, 1, 'final', 'stream'],
    [1, 2, 'restated', 'import'],
    [2, 1, 'final', 'stream'],
    [2, 2, 'restated', 'import'],
    [2, 3, 'restated', 'backfill'],
    [3, 1, 'final', 'stream'],
    [3, 2, 'restated', 'backfill'],
    [3, 3, 'restated', 'backfill'],
    [4, 1, 'final', 'stream'],
    [4, 2, 'restated', 'backfill'],
    [4, 3, 'restated', 'import stream'],
    [5, 1, 'final', 'import stream'],
  ]);
});

test('a version names the nearest new readings: of its day, else of its source, else of other sources', {
  tags: ['slow'],
}, async () => {
  const shard = await openTestShard();
  const readBy = (origin: string, source: string, ...values: Array<[time: string, energy: number]>) =>
    landReadings(
      shard,
      values.map(([time, energy]) => ({ event_time: `2024-06-${time}:00Z`, source, data: { energy } })),
      't',
      origin,
    );
  await readBy('stream', 'a', ['01T00:00', 0], ['02T12:00', 3600], ['04T12:00', 8400]);
  await readBy('stream', 'b', ['04T00:00', 0]);
  await rollUpSite(shard, site, at('09T00:00'));
  // Day 2 of a is changed by the reading of day 3, which is as near as that of day 6; day 3 by its own.
  await readBy('backfill:1:0', 'a', ['03T00:00', 4900]);
  await readBy('stream', 'a', ['06T00:00', 12_000]);
  await readBy('import:0a1b:7', 'b', ['05T00:00', 2400]);
  await rollUpSite(shard, site, at('09T01:00'));
  const rows = await rowsOf(
    shard,
    `SELECT source, day(day)::INTEGER AS day, array_to_string(causes, ' ') AS causes
     FROM daily_energy_history WHERE batch_id > (SELECT min(batch_id) FROM daily_energy_history) ORDER BY source, day`,
  );
  expect(rows.map(({ source, day, causes }) => [source, day, causes])).toEqual([
    ['a', 2, 'backfill stream'],
    ['a', 3, 'backfill'],
    ['a', 4, 'backfill stream'],
    ['a', 5, 'backfill stream'],
    ['b', 4, 'import'],
  ]);
});

const learning: EnergySite = { ...site, streams: [{ table: 't', field: 'energy', method: 'total_energy' }] };
/**
 * A reading every five minutes of a day. 8 kWh in 5 minutes are 96 kW: impossible beside 300 W, and possible
 * beside 12 kW.
 */
const dayOf = (day: number, first: number, watts: number, jump = 0): Array<[string, number]> =>
  Array.from({ length: 288 }, (_, place) => [
    `0${day}T${String(Math.floor(place / 12)).padStart(2, '0')}:${String((place % 12) * 5).padStart(2, '0')}`,
    first + (place * watts) / 12 + (place >= 144 ? jump : 0),
  ]);

// close-after.test.ts has the same over two more days.
test.runIf(isSoak)('a closed day keeps its limits, even if later days have others', async () => {
  const shard = await openTestShard();
  await read(shard, ...dayOf(1, 600_000, 300, 8_000), ...dayOf(2, 615_200, 300));
  await rollUpSite(shard, learning, at('05T00:00'));
  await read(shard, ...dayOf(4, 629_600, 12_000), ...dayOf(5, 917_600, 12_000));
  await rollUpSite(shard, learning, at('09T00:00'));
  expect(await energyByDay(shard)).toMatchObject({ '2024-06-01': 7_175 });
  expect((await causesOf(shard)).filter(([day]) => day === 1)).toEqual([[1, 1, 'final', 'stream']]);
});

// close-after.test.ts has a day with limits that change, with its causes.
test.runIf(isSoak)(
  'a closed day has the cause learnt if its limits change because the next day arrives late',
  async () => {
    const shard = await openTestShard();
    await read(shard, ...dayOf(1, 600_000, 300, 8_000));
    await rollUpSite(shard, learning, at('05T00:00'));
    expect(await energyByDay(shard)).toMatchObject({ '2024-06-01': 7_150 });
    await read(shard, ...dayOf(2, 615_200, 12_000));
    await rollUpSite(shard, learning, at('09T00:00'));
    expect(await energyByDay(shard)).toMatchObject({ '2024-06-01': 15_200 });
    expect((await causesOf(shard)).filter(([day]) => day === 1)).toEqual([
      [1, 1, 'final', 'stream'],
      [1, 2, 'restated', 'learnt stream'],
    ]);
  },
);
