// @module-tag slow
import { expect, test } from 'vitest';
import { DEVICE, landReadings, rollUpSite } from '../rollup/rollup-fixture.ts';
import { openTestShard } from '../warehouse/warehouse-fixture.ts';
import { correct, NOW_MS, toldIntervalsOf } from './correction-fixture.ts';

const site = {
  timezone: 'Etc/UTC',
  streams: [
    { table: 't', field: 'energy', method: 'interval_energy', unit: 'Wh', interval: '1h', maxPower: '10 kW' },
  ],
} as const;

/** A warehouse with these hours of energy, each as [source, start, Wh]. */
async function openHours(hours: ReadonlyArray<readonly [string, string, number]>) {
  const shard = await openTestShard();
  await landReadings(
    shard,
    hours.map(([source, at, energy]) => ({ source, event_time: `2024-06-${at}:00Z`, data: { energy } })),
  );
  await rollUpSite(shard, { ...site, streams: [...site.streams] }, NOW_MS);
  return shard;
}

/** Every hour of a day in June 2024. */
const wholeDay = (source: string, day: string, energyWh: number) =>
  Array.from(
    { length: 24 },
    (_, hour) => [source, `${day}T${String(hour).padStart(2, '0')}:00`, energyWh] as const,
  );
const fill = (from: string, to: string, more = {}) => ({
  ...{ kind: 'fill' as const, from: `2024-06-${from}:00Z`, to: `2024-06-${to}:00Z`, replace: false },
  ...more,
});
const like = (source: string, device = DEVICE) => ({ like: { device, source } });

test('an estimate needs three comparable days, and says how many there are', async () => {
  const shard = await openHours([
    ['default', '03T08:00', 1_000],
    ['default', '04T08:00', 2_000],
    // The hour before was measured, the missing one was not.
    ['default', '05T07:00', 9_000],
    ['default', '10T00:00', 500],
  ]);
  await expect(correct(shard, fill('10T08:00', '10T09:00'))).rejects.toThrow(
    /from: 2024-06-10 has 2 comparable days .* 3 are needed/,
  );
});

test('comparable days are the ten nearest ones with the same hours, without corrected ones', async () => {
  const weekdays = '03 04 05 06 07 10 11 13 14 17 18 19 20 21 24'.split(' ');
  const shard = await openHours([
    ...weekdays.map((day) => ['default', `${day}T08:00`, 1_000] as const),
    // On the 11th the second hour is missing.
    ...weekdays.flatMap((day) => (day === '11' ? [] : [['default', `${day}T09:00`, 1_000] as const])),
    ['default', '12T00:00', 500],
  ]);
  await correct(shard, {
    ...{ kind: 'set', energyWh: 5, from: '2024-06-13T08:00:00Z', to: '2024-06-13T09:00:00Z' },
  });
  const { correction } = await correct(shard, fill('12T08:00', '12T10:00'));
  const nearest = ['04', '05', '06', '07', '10', '14', '17', '18', '19', '20'];
  expect(correction.basis).toEqual({
    from: 'comparable_days',
    days: { '2024-06-12': nearest.map((day) => `2024-06-${day}`) },
  });
});

test('an estimate by another source needs three whole days of both, and a measurement there', async () => {
  const shard = await openHours([
    ...['03', '04', '07'].flatMap((day) => wholeDay('east', day, 100)),
    ...['03', '04', '07'].flatMap((day) => wholeDay('west', day, 50)),
    ...['03', '04'].flatMap((day) => wholeDay('south', day, 50)),
    // On the 5th only one of them was measured completely.
    ...wholeDay('east', '05', 100).slice(12),
    ...wholeDay('west', '05', 50),
    ['east', '06T23:00', 4],
  ]);
  const west = { source: 'west' };
  await expect(correct(shard, fill('06T23:00', '07T00:00', like('south')), west)).rejects.toThrow(
    /like: both sources have 2 whole days within 28 days, and 3 are needed/,
  );
  await expect(correct(shard, fill('06T22:00', '07T00:00', like('east')), west)).rejects.toThrow(
    'like: has no measurements at 2024-06-06 22:00',
  );
  await expect(correct(shard, fill('06T23:00', '07T00:00', like('north')), west)).rejects.toThrow(
    /like: the device has no readings of a source "north"/,
  );
  await expect(correct(shard, fill('06T23:00', '07T00:00', like('west')), west)).rejects.toThrow(
    'like: must be another source',
  );
  // The filled time ends at midnight, so the day after counts. Half a Wh each quarter adds up to 2 Wh.
  const stored = await correct(shard, fill('06T23:00', '07T00:00', like('east')), west);
  expect(stored.correction).toMatchObject({ energyWh: 2, basis: { ratio: 0.5, days: 3 } });
  const intervals = await toldIntervalsOf(shard, 'west');
  expect(['00', '15', '30', '45'].map((minute) => intervals[`2024-06-06T23:${minute}:00Z`])).toEqual([
    1, 0, 1, 0,
  ]);
});

test('a day that the time zone left out cannot be set', async () => {
  const shard = await openTestShard();
  const apia = { ...site, timezone: 'Pacific/Apia', streams: [...site.streams] };
  await landReadings(shard, [{ event_time: '2011-12-29T12:00:00Z', data: { energy: 5 } }]);
  await rollUpSite(shard, apia, NOW_MS);
  await expect(correct(shard, { kind: 'set_day', day: '2011-12-30', energyWh: 5 })).rejects.toThrow(
    'day: Pacific/Apia left 2011-12-30 out: there was no such day',
  );
});
