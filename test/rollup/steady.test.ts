import fc from 'fast-check';
import { expect, test } from 'vitest';
import { HOUR_MS, MINUTE_MS } from '../../src/time.ts';
import { openTestShard, rowsOf } from '../warehouse/support.ts';
import {
  type Check,
  differences,
  expectAll,
  messagesOf,
  type RandomStream,
  ROWS,
  rolledUp,
} from './many-streams.ts';
import { type EnergySite, landReadings, rollUpSite } from './support.ts';

const PARTS = 3;
const POWER_W = 8_000;
const START_MS = Date.UTC(2025, 9, 24, 21);
const site: EnergySite = {
  timezone: 'Europe/Paris',
  streams: [
    { table: 'limited', field: 'total', method: 'total_energy', unit: 'Wh', maxPower: `${POWER_W} W` },
    {
      table: 'known',
      field: 'total',
      method: 'total_energy',
      unit: 'Wh',
      maxPower: `${5 * POWER_W} W`,
      jitter: '2 Wh',
    },
    { table: 'learnt', field: 'total', method: 'total_energy', unit: 'Wh' },
  ],
};

const step = fc.record({
  afterMs: fc.oneof(
    fc.integer({ min: 1, max: 12 }).map((count) => (count * MINUTE_MS) / 4),
    fc.integer({ min: 1, max: 20 * MINUTE_MS }),
    fc.constantFrom(15 * MINUTE_MS, 30 * MINUTE_MS, HOUR_MS, 2 * HOUR_MS, 30 * HOUR_MS),
    fc.integer({ min: HOUR_MS, max: 9 * HOUR_MS }),
  ),
  /** Comes on the quarter of an hour. */
  onQuarter: fc.boolean(),
  /** Of what is possible in the time. */
  share: fc.oneof(
    fc.constant(0),
    fc.integer({ min: 1, max: 99 }).map((percent) => percent / 100),
  ),
  part: fc.integer({ min: 0, max: PARTS - 1 }),
});

/** Registers that grow, or stand, of which few do anything else. */
const grownStream: fc.Arbitrary<RandomStream> = fc
  .record({
    table: fc.constantFrom('limited', 'known', 'learnt'),
    inOrder: fc.boolean(),
    startsAt: fc.constantFrom(0.25, 1_000, 123_456.5),
    steps: fc.array(step, { minLength: 1, maxLength: 40 }),
    fault: fc.option(
      fc.record({
        place: fc.nat(20),
        shows: fc.constantFrom(0, 999_999, 'less', 'less'),
        part: fc.nat(PARTS - 1),
      }),
      { freq: 4 },
    ),
  })
  .map(({ table, inOrder, startsAt, steps, fault }) => {
    let [atMs, value] = [START_MS, startsAt];
    // Each by its own limit: what is learnt is 50 kW at least.
    const powerW = table === 'limited' ? POWER_W : 5 * POWER_W;
    const readings = steps.map(({ afterMs, onQuarter, share, part }, place) => {
      const beforeMs = atMs;
      atMs += afterMs;
      if (onQuarter) atMs = Math.ceil(atMs / (15 * MINUTE_MS)) * 15 * MINUTE_MS;
      value += (powerW * share * (atMs - beforeMs)) / HOUR_MS;
      const isFault = fault?.place === place;
      const shown = fault?.shows === 'less' ? value - 1 : fault?.shows;
      return {
        atMs,
        part: isFault ? fault.part : inOrder ? Math.floor((place * PARTS) / steps.length) : part,
        lateMs: 0,
        data: { total: isFault ? shown! : value },
      };
    });
    return { table, readings };
  });

const kinds = {
  ...ROWS,
  mark: 'SELECT device, interval_start_ms, interval_energy.last_ms, last_value FROM interval_energy JOIN series USING (series_id) WHERE covered_ms > 0 OR energy_wh <> 0',
};

test('registers that only grow come to the same by their quarters of an hour as by their steps, whatever comes between', {
  timeout: 600_000,
}, async () => {
  let steady = 0;
  const check: Check = async (streams) => {
    const messages = messagesOf(streams);
    const found = await openTestShard();
    for (let part = 0; part < PARTS; part++) {
      await landReadings(
        found,
        messages.filter((one) => one.part === part),
      );
      await rollUpSite(found, site);
      // As if they had been other rules until now.
      await rowsOf(found, `UPDATE energy_stream SET settings = '{}'`);
      await rollUpSite(found, site);
    }
    const [row] = await rowsOf(
      found,
      'SELECT count(*)::INTEGER AS count FROM series WHERE steady_power_w IS NOT NULL',
    );
    steady = Math.max(steady, row!.count as number);
    return differences(streams, await rolledUp(site, [messages]), found, kinds);
  };
  await expectAll(site, grownStream, check);
  expect(steady).toBeGreaterThan(700);
});

test('a register is no longer steady once it has fallen, or shown more than what it is looked at by now', async () => {
  const shard = await openTestShard();
  const steadyPower = async () =>
    (await rowsOf(shard, 'SELECT steady_power_w AS w FROM series')).map(({ w }) => w);
  const reading = (hour: number, total: number) => ({
    event_time: new Date(START_MS + hour * HOUR_MS).toISOString(),
    table: 'limited',
    data: { total },
  });
  await landReadings(shard, [reading(0, 1_000), reading(1, 4_000), reading(2, 9_000)]);
  await rollUpSite(shard, site);
  expect(await steadyPower()).toEqual([8_000]);
  // 5 kWh in an hour is more than 4 kW: looked at again, and not steady by that.
  const lower: EnergySite = { ...site, streams: [{ ...site.streams[0]!, maxPower: '4 kW' }] };
  await rollUpSite(shard, lower);
  expect(await steadyPower()).toEqual([null]);
  await rollUpSite(shard, site);
  expect(await steadyPower()).toEqual([8_000]);
  await landReadings(shard, [reading(1.5, 3_999)]);
  await rollUpSite(shard, site);
  expect(await steadyPower()).toEqual([null]);
});
