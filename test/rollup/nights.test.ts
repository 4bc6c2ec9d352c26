import { expect, test } from 'vitest';
import type { Shard } from '../../src/warehouse/shard.ts';
import { openTestShard, rowsOf } from '../warehouse/warehouse-fixture.ts';
import { type EnergySite, energyByDay, landReadings, rollUpSite } from './rollup-fixture.ts';
import { statementsOf } from './statements-of.ts';

const DAYS = 40;
const START_MS = Date.UTC(2026, 3, 1);
const HOUR_MS = 3_600_000;

const siteOf = (limits: { maxPower?: string; jitter?: string }): EnergySite => ({
  timezone: 'Etc/UTC',
  streams: [{ table: 't', field: 'total', method: 'total_energy', ...limits }],
});
const configured = siteOf({ maxPower: '20 kW', jitter: '1 Wh' });

/** 12 kWh a day, none of it from 22:00 to 04:00. */
function totalAt(hour: number): number {
  const sunHours = Math.min(18, Math.max(0, (hour % 24) - 4));
  return 1_000_000 + Math.floor(hour / 24) * 12_000 + 6_000 * (1 - Math.cos((Math.PI * sunHours) / 18));
}
const isNight = (hour: number) => (hour + 2) % 24 < 6;
const reading = (hour: number, total: number) => ({
  event_time: new Date(START_MS + hour * HOUR_MS).toISOString(),
  data: { total },
});

async function hourly(site: EnergySite, zeroAtNight: boolean): Promise<Shard> {
  const shard = await openTestShard();
  const hours = Array.from({ length: 24 * DAYS }, (_, hour) => hour);
  await landReadings(
    shard,
    hours.map((hour) => reading(hour, zeroAtNight && isNight(hour) ? 0 : totalAt(hour))),
  );
  await rollUpSite(shard, site);
  return shard;
}

/** How many statements a late reading takes at this hour. */
async function lateReading(shard: Shard, site: EnergySite, hour: number): Promise<number> {
  await landReadings(shard, [reading(hour, totalAt(hour))]);
  return statementsOf(() => rollUpSite(shard, site));
}

test('a late reading runs as many statements if the register shows 0 every night', async () => {
  const counts = [];
  const energies = [];
  for (const zeroAtNight of [false, true]) {
    const shard = await hourly(configured, zeroAtNight);
    // The first one binds the settings again.
    await lateReading(shard, configured, 10 * 24 + 11.5);
    counts.push([
      await lateReading(shard, configured, 12 * 24 + 8.5),
      await lateReading(shard, configured, 20 * 24 + 11.5),
      await lateReading(shard, configured, 30 * 24 + 17.5),
    ]);
    energies.push((await energyByDay(shard))['2026-04-21']);
  }
  expect(counts[1]).toEqual(counts[0]);
  expect(energies).toEqual([12_000, 12_000]);
});

test('a day with other statistics but the same limits computes only the intervals beside a late reading', async () => {
  const site = siteOf({});
  const shard = await hourly(site, true);
  await lateReading(shard, site, 10 * 24 + 11.5);
  const day = Math.floor(START_MS / (24 * HOUR_MS)) + 20;
  const limits = () =>
    rowsOf(
      shard,
      'SELECT series_id, utc_day, learnt_power_w, learnt_resolution FROM series_day ORDER BY ALL',
    );
  const changes = () => rowsOf(shard, `SELECT change_count FROM series_day WHERE utc_day = ${day}`);
  const before = await limits();
  expect(await changes()).toEqual([{ change_count: 19 }]);
  expect(await lateReading(shard, site, 20 * 24 + 11.5)).toBeLessThanOrEqual(40);
  expect(await changes()).toEqual([{ change_count: 20 }]);
  expect(await limits()).toEqual(before);
  expect(before[20]!.learnt_power_w).not.toBeNull();
});

test('registers with more breaks than are judged at once are all judged', async () => {
  const devices = Array.from(
    { length: 40 },
    (_, index) => `00000000-0000-4000-8000-${String(index).padStart(12, '0')}`,
  );
  const hours = Array.from({ length: 601 }, (_, hour) => hour);
  const shard = await openTestShard();
  await landReadings(
    shard,
    devices.flatMap((device, index) =>
      hours.map((hour) => ({ device, ...reading(hour, hour % 2 === 0 ? 1_000 + (index + 1) * hour : 0) })),
    ),
  );
  await rollUpSite(shard, configured);
  const rows = await rowsOf(
    shard,
    `SELECT sum(energy_wh)::DOUBLE AS wh, (SELECT count(*) FROM energy_event e WHERE e.series_id = any_value(s.series_id))::INTEGER AS events
     FROM daily_energy d JOIN series s USING (device) GROUP BY device ORDER BY device`,
  );
  expect(rows).toEqual(devices.map((_, index) => ({ wh: 600 * (index + 1), events: 300 })));
  expect(await rowsOf(shard, 'SELECT count(*) > 20000 AS many FROM series_break')).toEqual([{ many: true }]);
});
