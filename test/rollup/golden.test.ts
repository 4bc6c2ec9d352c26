import { describe, expect, test } from 'vitest';
import { isSoak, sampled } from '../support/rounds.ts';
import { openTestShard } from '../warehouse/warehouse-fixture.ts';
import {
  daysOf,
  deviceDaysOf,
  estimatedIntervalsOf,
  eventsOf,
  expectedDeviceDays,
  expectedRows,
  type GoldenCase,
  goldenCases,
  intervalsOf,
  ownReadings,
  pieceOf,
  rejectedOf,
  siteOf,
  sumByDay,
  unknownKeys,
} from './golden.ts';
import { energyRows, landReadings, rollUpSite } from './rollup-fixture.ts';

/** The only case to run, where one is named. */
const only = process.env.WATTLINE_TEST_CASE;
const chosen = goldenCases().filter(({ id }) => only === undefined || id === only);
if (chosen.length === 0) throw new Error(`WATTLINE_TEST_CASE: no golden case is named ${only}`);
/**
 * Cases of one zone share a warehouse, each with its own devices, because opening a warehouse for each case
 * would take most of the time.
 */
const zones = [...Map.groupBy(chosen, ({ timezone }) => timezone)];
/**
 * In how many pieces the cases come: a few, because rollup-properties.test.ts has every order for a thousand
 * streams.
 */
const ROUNDS_MAX = 4;
/** One of so many cases with one event is also rolled up alone. */
const ALONE_EVERY = 48;

test('every golden case has a unique name', () => {
  const ids = goldenCases().map(({ id }) => id);
  expect(ids.filter((id, index) => ids.indexOf(id) !== index)).toEqual([]);
});

test('every member of a golden case is checked', () => {
  expect(unknownKeys(goldenCases())).toEqual([]);
  expect(unknownKeys([{ id: 'mine', tolerance: 1 }])).toEqual([
    expect.stringMatching(/^mine: tolerance is not known; a case may have id, why, .*deviceDays/),
  ]);
});

// With one case alone, one break is all that changes.
test.each(
  sampled(
    chosen.filter(({ events }) => events?.length === 1),
    ALONE_EVERY,
  ),
)('the case $id has the same energy alone in its warehouse', async (one) => {
  const shard = await openTestShard();
  await landReadings(shard, ownReadings(one));
  await rollUpSite(shard, siteOf([one]));
  expect(sumByDay((await daysOf(shard)).get(one.id) ?? [])).toEqual(one.expected);
  expect((await eventsOf(shard)).get(one.id)).toEqual(one.events);
});

describe.each(zones)('golden cases of %s, worked out by hand', (_zone, cases) => {
  test('have the energy of their arithmetic, rolled up at once and in parts, the newest part first', async () => {
    const shard = await openTestShard();
    // New settings compute everything again. So they come first, and the readings touch only their own time.
    await rollUpSite(shard, siteOf(cases));
    await landReadings(shard, cases.flatMap(ownReadings));
    await rollUpSite(shard, siteOf(cases));
    const days = await daysOf(shard);
    // Only what a case of the zone names is read, because each of these statements takes its time.
    const named = (key: keyof GoldenCase) => cases.some((one) => one[key] !== undefined);
    const events = named('events') ? await eventsOf(shard) : undefined;
    const rejected = named('rejected') ? await rejectedOf(shard) : undefined;
    const intervals = named('intervals') ? await intervalsOf(shard) : undefined;
    const estimated = named('estimatedIntervals') ? await estimatedIntervalsOf(shard) : undefined;
    const deviceDays = named('deviceDays') ? await deviceDaysOf(shard, siteOf(cases)) : undefined;
    for (const one of cases) {
      const name = `${one.id}: ${one.why ?? one.note}`;
      const rows = days.get(one.id) ?? [];
      expect.soft(sumByDay(rows), name).toEqual(one.expected);
      for (const row of expectedRows(one)) {
        const found = rows.find(({ day, source }) => day === row.day && source === row.source);
        expect.soft(found, name).toMatchObject(row);
      }
      const devices = expectedDeviceDays(one);
      if (one.deviceDays) {
        const found = deviceDays?.get(one.id) ?? [];
        expect.soft(found, name).toHaveLength(devices.length);
        expect.soft(found, name).toMatchObject(devices);
      }
      if (one.events) expect.soft(events?.get(one.id) ?? [], name).toEqual(one.events);
      if (one.rejected) expect.soft(rejected?.get(one.id) ?? {}, name).toEqual(one.rejected);
      if (one.estimatedIntervals) expect.soft(estimated?.get(one.id), name).toEqual(one.estimatedIntervals);
      for (const [start, energyWh] of Object.entries(one.intervals ?? {})) {
        expect.soft(intervals?.get(`${one.id} ${start}`), `${name}, ${start}`).toBe(energyWh);
      }
    }

    // rollup-properties.test.ts compares parts with the whole.
    if (!isSoak) return;
    // In pieces, the last first, rolled up after each: the same rows.
    const pieces = await openTestShard();
    const rounds = Math.min(ROUNDS_MAX, Math.max(...cases.map(({ readings }) => readings.length)));
    for (let round = 0; round < rounds; round += 1) {
      const piece = cases.flatMap((one) => pieceOf(ownReadings(one).toReversed(), round, rounds));
      await landReadings(pieces, piece);
      await rollUpSite(pieces, siteOf(cases));
    }
    const [found, wanted] = [await energyRows(pieces), await energyRows(shard)];
    expect(found.days).toEqual(wanted.days);
    expect(found.intervals).toEqual(wanted.intervals);
  });
});
