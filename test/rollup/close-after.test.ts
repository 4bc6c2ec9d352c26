// @module-tag slow
import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { DAY_MS, MINUTE_MS } from '../../src/lib/time.ts';
import type { Shard } from '../../src/warehouse/shard.ts';
import { isSoak } from '../support/rounds.ts';
import { shared } from '../support/shared.ts';
import { tempDir } from '../support/temp-dir.ts';
import { openTestShard, rowsOf } from '../warehouse/warehouse-fixture.ts';
import { type CaseReading, type EnergySite, landReadings, rollUpSite } from './rollup-fixture.ts';

const FIRST_MS = Date.UTC(2026, 2, 1);
const site = (closeAfterDays: number): EnergySite => ({
  timezone: 'Etc/UTC',
  streams: [{ table: 't', field: 'power', method: 'power_curve' }],
  closeAfterMs: closeAfterDays * DAY_MS,
});

/**
 * A sample every five minutes: 1 kW, on the fourth day 15 kW. The first day has one sample of 60 kW. Quiet
 * days teach a limit of 50 kW, so it is a spike. The fourth day teaches 32 x 4096 W, and with this limit it
 * is no event.
 */
function day(number: number): CaseReading[] {
  return Array.from({ length: 288 }, (_, place) => {
    const isSpike = number === 1 && place === 144;
    const power = (number === 4 ? 15_000 : 1_000) + (place % 2) * 100;
    const atMs = FIRST_MS + (number - 1) * DAY_MS + place * 5 * MINUTE_MS;
    return { event_time: new Date(atMs).toISOString(), data: { power: isSpike ? 60_000 : power } };
  });
}

/** At six in the morning after a day. */
const after = (number: number) => FIRST_MS + number * DAY_MS + 6 * 60 * MINUTE_MS;

async function rollUpDay(shard: Shard, number: number, closeAfterDays: number): Promise<void> {
  await landReadings(shard, day(number));
  await rollUpSite(shard, site(closeAfterDays), after(number));
}

const firstDayOf = async (shard: Shard) =>
  (await rowsOf(shard, `SELECT flags, version, status FROM daily_energy WHERE day = DATE '2026-03-01'`))[0];
const versionsOf = (shard: Shard) =>
  rowsOf(shard, 'SELECT day::VARCHAR AS day, version, energy_wh FROM daily_energy_history ORDER BY ALL');

const SPIKE = 32;
/** Version 2, because the first sample of the next day gives the time after the last sample its energy. */
const spiked = { flags: SPIKE, version: 2, status: 'final' };

const image = shared(async () => {
  const path = join(tempDir(), 'image.duckdb');
  const shard = await openTestShard({ path });
  for (const number of [1, 2, 3]) await rollUpDay(shard, number, 2);
  await shard.close();
  return path;
});

/** A warehouse with three days. The first one is closed. */
async function afterThreeDays(): Promise<Shard> {
  const path = join(tempDir(), 'copy.duckdb');
  copyFileSync(image(), path);
  return openTestShard({ path });
}

test('another closeAfter changes no day by itself', async () => {
  const shard = await afterThreeDays();
  expect(await firstDayOf(shard)).toEqual(spiked);
  const before = await versionsOf(shard);
  for (const closeAfterDays of [10, 2, 10]) {
    await rollUpSite(shard, site(closeAfterDays), after(3));
    expect(await firstDayOf(shard)).toEqual(spiked);
    expect(await versionsOf(shard)).toEqual(before);
  }
});

test('a longer closeAfter applies from now on: limits of days that ended within it follow from later days too', async () => {
  const shard = await afterThreeDays();
  await rollUpDay(shard, 4, 10);
  expect(await firstDayOf(shard)).toEqual({ flags: 0, version: 3, status: 'restated' });
  const causes = await rowsOf(
    shard,
    `SELECT array_to_string(causes, ' ') AS causes FROM daily_energy_history WHERE day = DATE '2026-03-01' AND version = 3`,
  );
  expect(causes).toEqual([{ causes: 'learnt stream' }]);
});

// The tests around it have another closeAfter, a longer one and none.
test.runIf(isSoak)(
  'a shorter closeAfter changes no day, and limits of later days follow from fewer days',
  async () => {
    const shard = await openTestShard();
    for (const number of [1, 2, 3, 4]) await rollUpDay(shard, number, 10);
    expect(await firstDayOf(shard)).toMatchObject({ flags: 0, status: 'provisional' });
    const before = await firstDayOf(shard);
    await rollUpDay(shard, 5, 2);
    expect(await firstDayOf(shard)).toEqual({ ...before, status: 'final' });
  },
);

test('without a change, a closed day keeps its limits', async () => {
  const shard = await afterThreeDays();
  for (const number of [4, 5]) await rollUpDay(shard, number, 2);
  expect(await firstDayOf(shard)).toEqual(spiked);
});
