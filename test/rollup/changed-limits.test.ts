// @module-tag slow
import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { energyStreamSchema } from '../../src/config/energy-stream.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { DAY_MS, HOUR_MS } from '../../src/lib/time.ts';
import { type RollUpResult, rollUp } from '../../src/rollup/roll-up.ts';
import type { Shard } from '../../src/warehouse/shard.ts';
import { readStageProgress } from '../../src/warehouse/stage-progress.ts';
import { isSoak } from '../support/rounds.ts';
import { shared } from '../support/shared.ts';
import { tempDir } from '../support/temp-dir.ts';
import { openTestShard, rowsOf } from '../warehouse/warehouse-fixture.ts';
import { deviceOf } from './many-streams.ts';
import { type CaseReading, type EnergySite, energyRows, landReadings, rollUpSite } from './rollup-fixture.ts';

const DEVICES = 3;
const START_MS = Date.UTC(2026, 2, 1);
const site: EnergySite = {
  timezone: 'Europe/Paris',
  streams: [
    { table: 't', field: 'total', method: 'total_energy' },
    { table: 't', field: 'power', method: 'power_curve' },
    { table: 't', field: 'net', method: 'total_energy', register: 'net', as: 'grid' },
  ],
};
/** Readings of the days of two devices with limits that change. */
const TWO_DEVICES = 48 * 12 * 2;

/**
 * A day of a device, every half hour; the first day is much busier, so that the limits of the days after it
 * follow from it.
 */
function dayOf(device: number, day: number): CaseReading[] {
  return Array.from({ length: 48 }, (_, half) => {
    const grown = day === 0 ? half * 40_000 : 2_000_000 + (day - 1) * 4_800 + half * 100;
    const atMs = START_MS + day * DAY_MS + (half * HOUR_MS) / 2;
    // A rise on the third day that only the busy day makes possible.
    const risen = day > 3 || (day === 3 && half >= 24) ? 60_000 : 0;
    return {
      event_time: new Date(atMs).toISOString(),
      device: deviceOf(device),
      data: { total: 1_000_000 + grown + risen, power: day === 0 ? 80_000 : 200, net: 500_000 + half * 100 },
    };
  });
}

const days = (from: number, to: number) =>
  Array.from({ length: DEVICES }, (_, device) =>
    Array.from({ length: to - from }, (_, index) => dayOf(device, from + index)).flat(),
  ).flat();

const DAYS = 'SELECT * EXCLUDE (computed_at_ms) FROM daily_energy ORDER BY ALL';
/** Without versions, because new batches come between the calls for waiting devices. */
const rowsAfter = async (shard: Shard) => ({
  energy: await energyRows(shard),
  intervals: await rowsOf(shard, 'SELECT * FROM interval_energy ORDER BY ALL'),
  events: await rowsOf(shard, 'SELECT * FROM energy_event ORDER BY ALL'),
  limits: await rowsOf(shard, 'SELECT * FROM series_day ORDER BY ALL'),
});

const image = shared(async () => {
  const path = join(tempDir(), 'image.duckdb');
  const shard = await openTestShard({ path });
  await landReadings(shard, days(1, 12));
  await rollUpSite(shard, site, Date.UTC(2026, 2, 12));
  await landReadings(shard, days(0, 1), 't', 'late');
  await shard.close();
  return path;
});

/** A warehouse with twelve days that are rolled up. The busy day before them has landed. */
async function beforeTheBusyDay(path = join(tempDir(), 'copy.duckdb')): Promise<Shard> {
  copyFileSync(image(), path);
  return openTestShard({ path });
}

let whole: ReturnType<typeof computeWhole> | undefined;
/** What one call computes of the busy day, and of the day after the others. The tests share it. */
const wholeRows = () => (whole ??= computeWhole());
async function computeWhole() {
  const shard = await beforeTheBusyDay();
  await rollUpSite(shard, site);
  const energy = await energyRows(shard);
  await landReadings(shard, days(12, 13));
  await rollUpSite(shard, site);
  return { energy, afterNextDay: await rowsAfter(shard) };
}

/** One call. It computes two devices again because their limits change. */
function once(shard: Shard, of = site): Promise<RollUpResult> {
  return rollUp(shard, {
    workgroup: { ...workgroup, timezone: of.timezone },
    clock: { now: () => Date.UTC(2030, 0, 1) },
    closeAfterMs: 2 * DAY_MS,
    pendingReadingsMax: TWO_DEVICES,
    logger: silentLogger,
  });
}
const workgroup = {
  id: 'acme',
  timezone: site.timezone,
  energyStreams: site.streams.map((stream) => energyStreamSchema.parse(stream)),
  devices: [],
  roles: [],
  deviceGroups: {},
  meters: [],
  sites: [],
};
const waitingOf = (shard: Shard) =>
  rowsOf(shard, 'SELECT DISTINCT device::VARCHAR AS device FROM pending_change ORDER BY device');
const rolledUpOf = async (shard: Shard) =>
  (await shard.read((connection) => readStageProgress(connection, workgroup))).rolledUpBatchId;

test('a changed limit is applied to some devices in each call, and new batches are read in between', async () => {
  const path = join(tempDir(), 'moved.duckdb');
  let shard = await beforeTheBusyDay(path);
  const before = await rowsOf(shard, DAYS);
  const results = [await once(shard)];
  expect(await waitingOf(shard)).toHaveLength(DEVICES);
  // Days of devices that wait stay as they are, and no day becomes final because of that.
  expect(await rowsOf(shard, DAYS)).toEqual(before);
  expect(before.some(({ status }) => status === 'provisional')).toBe(true);
  expect(await rolledUpOf(shard)).toBe(1);
  // A restart forgets nothing.
  await landReadings(shard, days(12, 13));
  await shard.close();
  shard = await openTestShard({ path });
  while (results.at(-1)!.more && results.length < 20) {
    results.push(await once(shard));
    if ((await waitingOf(shard)).length > 0) expect(await rolledUpOf(shard)).toBe(1);
  }
  expect(results.map(({ readings }) => readings)).toEqual([48 * DEVICES * 3, 0, 48 * DEVICES * 3, 0]);
  expect(results.map(({ more }) => more)).toEqual([true, true, true, false]);
  expect(await rolledUpOf(shard)).toBe(3);
  expect(await rowsAfter(shard)).toEqual((await wholeRows()).afterNextDay);
});

// set-aside.test.ts has a series that fails in one call.
test.runIf(isSoak)(
  'if a waiting series fails, it alone is set aside, and the others are computed',
  async () => {
    const shard = await beforeTheBusyDay();
    await once(shard);
    await rowsOf(
      shard,
      `UPDATE reading SET value = 1e300 WHERE event_time_ms = ${START_MS + 23 * HOUR_MS} AND series_id = (
       SELECT series_id FROM series WHERE device = '${deviceOf(1)}' AND source = 'grid')`,
    );
    while ((await once(shard)).more);
    expect(await rowsOf(shard, 'SELECT device::VARCHAR AS device, source FROM set_aside')).toEqual([
      { device: deviceOf(1), source: 'grid' },
    ]);
    expect(await waitingOf(shard)).toEqual([]);
    expect(await rolledUpOf(shard)).toBe(2);
    const isOther = (row: Record<string, unknown>) => row.device !== deviceOf(1) || row.source !== 'grid';
    const [found, wanted] = [await energyRows(shard), (await wholeRows()).energy];
    expect(found.days.filter(isOther)).toEqual(wanted.days.filter(isOther));
    expect(found.intervals.filter(isOther)).toEqual(wanted.intervals.filter(isOther));
  },
);

test('if settings change while devices wait, everything is computed in one call', async () => {
  const elsewhere = { ...site, timezone: 'Asia/Tokyo' };
  const atOnce = await beforeTheBusyDay();
  await rollUpSite(atOnce, elsewhere);
  const shard = await beforeTheBusyDay();
  await once(shard);
  expect(await once(shard, elsewhere)).toMatchObject({ more: false });
  expect(await waitingOf(shard)).toEqual([]);
  expect(await energyRows(shard)).toEqual(await energyRows(atOnce));
});
