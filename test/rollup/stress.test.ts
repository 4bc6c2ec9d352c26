// @module-tag slow
import { expect, test } from 'vitest';
import type { EnergyStreamInput } from '../../src/config/energy-stream.ts';
import { DAY_MS, MINUTE_MS } from '../../src/lib/time.ts';
import { rounds } from '../support/rounds.ts';
import { openTestShard, rowsOf } from '../warehouse/warehouse-fixture.ts';
import { type CaseReading, energyByDay, landReadings, rollUpSite } from './rollup-fixture.ts';

// Work that explodes takes hours, so the time limit of a test finds it.

const START_MS = Date.UTC(2024, 0, 1);
const total: EnergyStreamInput = {
  table: 't',
  field: 'energy',
  method: 'total_energy',
  unit: 'Wh',
  maxPower: '10 kW',
};
const site = { timezone: 'Etc/UTC', streams: [total] };

function reading(ms: number, energy: number): CaseReading {
  return { event_time: new Date(ms).toISOString(), data: { energy } };
}

function sumOf(days: Record<string, number>): number {
  return Object.values(days).reduce((sum, wh) => sum + wh, 0);
}

/**
 * A register that shows 0 every other minute: almost as many breaks as readings, which in the soak are
 * 20,160.
 */
const MINUTES = rounds(2, 14) * 1440;
const glitching = Array.from({ length: MINUTES }, (_, minute) =>
  reading(START_MS + minute * MINUTE_MS, minute % 2 === 0 ? 1_000_000 + minute : 0),
);

test('a register that glitches every other minute for days keeps its energy, with work that does not explode', async () => {
  const shard = await openTestShard();
  await landReadings(shard, glitching);
  await rollUpSite(shard, site);
  expect(sumOf(await energyByDay(shard))).toBe(MINUTES - 2);
  // One more reading looks at all breaks of the series.
  await landReadings(shard, [reading(START_MS + MINUTES * MINUTE_MS, 1_000_000 + MINUTES)]);
  await rollUpSite(shard, site);
  expect(sumOf(await energyByDay(shard))).toBe(MINUTES);
});

test('a register that restarts every hour for weeks is summed up restart by restart', async () => {
  const shard = await openTestShard();
  const DAYS = rounds(12, 60);
  // 0, 10, 20, ... within each hour, shown every ten minutes, and 50 again at the next hour's restart to 5.
  const restarting = Array.from({ length: DAYS * 24 * 6 }, (_, step) =>
    reading(START_MS + step * 10 * MINUTE_MS, 5 + (step % 6) * 10),
  );
  await landReadings(shard, restarting);
  await rollUpSite(shard, site);
  // Each hour grows by 50 and restarts to 5: 24 * 55 a day, without the last ten minutes of the last day.
  const days = await energyByDay(shard);
  expect(Object.keys(days)).toHaveLength(DAYS);
  expect(days['2024-01-10']).toBe(24 * 55);
  expect(sumOf(days)).toBe(DAYS * 24 * 55 - 5);
});

test('one reading a month for years gives every day its share', async () => {
  const shard = await openTestShard();
  const YEARS = rounds(3, 20);
  const DAYS = (Date.UTC(2004 + YEARS, 0, 1) - Date.UTC(2004, 0, 1)) / DAY_MS;
  const months = Array.from({ length: 12 * YEARS + 1 }, (_, month) => Date.UTC(2004, month, 1));
  await landReadings(
    shard,
    months.map((ms) => reading(ms, (ms - months[0]!) / 3_600_000)),
  );
  await rollUpSite(shard, site);
  // 1 W all the time.
  const days = await energyByDay(shard);
  expect(Object.keys(days)).toHaveLength(DAYS);
  expect(new Set(Object.values(days))).toEqual(new Set([24]));
  await landReadings(shard, [
    reading(Date.UTC(2005, 6, 15), (Date.UTC(2005, 6, 15) - months[0]!) / 3_600_000 + 10),
  ]);
  const late = await rollUpSite(shard, site);
  expect(late.days).toBeLessThan(32);
  expect(sumOf(await energyByDay(shard))).toBe(DAYS * 24);
  const [flags] = await rowsOf(
    shard,
    'SELECT count(*)::INTEGER AS days FROM daily_energy WHERE flags & 1 = 0',
  );
  // No day has readings at both ends, so every day is interpolated.
  expect(flags).toEqual({ days: 0 });
});
