// @module-tag slow
import { expect, test } from 'vitest';
import { DAY_MS, HOUR_MS } from '../../src/lib/time.ts';
import type { Shard } from '../../src/warehouse/shard.ts';
import { openTestShard, rowsOf } from '../warehouse/warehouse-fixture.ts';
import {
  type CaseReading,
  callRollUp,
  type EnergySite,
  energyRows,
  landReadings,
  rollUpSite,
} from './rollup-fixture.ts';

/** A device with sources that are silent for 40 days, and a device that sends every hour. */
const SILENT = '00000000-0000-4000-8000-000000000001';
const GOOD = '00000000-0000-4000-8000-000000000002';
const START_MS = Date.UTC(2026, 0, 1);
const END_MS = START_MS + 40 * DAY_MS;
const SOURCES = ['a', 'b', 'c'];

const site: EnergySite = {
  timezone: 'Europe/Paris',
  streams: [{ table: 't', field: 'total', method: 'total_energy' }],
};
/** One source with a long silence in each call. */
const bounded: EnergySite = { ...site, intervalsMax: 1_000 };

const reading = (device: string, atMs: number, total: number, source?: string): CaseReading => ({
  ...{ device, ...(source !== undefined && { source }), event_time: new Date(atMs).toISOString() },
  data: { total },
});
const silent = (atMs: number, total: number) => SOURCES.map((source) => reading(SILENT, atMs, total, source));

const totals = async (shard: Shard) =>
  Object.fromEntries(
    (
      await rowsOf(
        shard,
        `SELECT device::VARCHAR AS device, source, sum(energy_wh)::INTEGER AS wh FROM daily_energy
         WHERE energy_wh > 0 GROUP BY ALL ORDER BY ALL`,
      )
    ).map(({ device, source, wh }) => [device === GOOD ? 'good' : source, wh]),
  );
const waitingOf = async (shard: Shard) =>
  (await rowsOf(shard, 'SELECT count(DISTINCT series_id)::INTEGER AS series FROM pending_change'))[0]!.series;
/** The first and the last change of each waiting time. */
const touchedOf = async (shard: Shard) =>
  (
    await rowsOf(
      shard,
      "SELECT from_ms::DOUBLE AS low, to_ms::DOUBLE AS high FROM pending_change WHERE kind = 'touched' ORDER BY ALL",
    )
  ).map(({ low, high }) => [low, high]);
const limitsOf = (shard: Shard) => rowsOf(shard, 'SELECT * FROM series_day ORDER BY ALL');

test('sources that were silent for long are computed one after another, and other devices do not wait', async () => {
  const shard = await openTestShard();
  await landReadings(shard, [...silent(START_MS, 0), reading(GOOD, END_MS - HOUR_MS, 0)]);
  await rollUpSite(shard, bounded);
  await landReadings(shard, [...silent(END_MS, 4_000), reading(GOOD, END_MS, 10)]);
  // The shortest silences come first.
  expect(await callRollUp(shard, bounded)).toMatchObject({ more: true });
  expect(await totals(shard)).toEqual({ good: 10, a: 4_000 });
  expect(await waitingOf(shard)).toBe(2);
  // A call for waiting sources, then one for new batches, and so on.
  await landReadings(shard, [reading(GOOD, END_MS + HOUR_MS, 30)]);
  expect(await callRollUp(shard, bounded)).toMatchObject({ more: true, readings: 0 });
  expect(await totals(shard)).toEqual({ good: 10, a: 4_000, b: 4_000 });
  // The time of a new reading waits too, beside the time that waits already.
  await landReadings(shard, [reading(SILENT, END_MS + HOUR_MS / 2, 4_003, 'c')]);
  expect(await callRollUp(shard, bounded)).toMatchObject({ more: true, readings: 2 });
  expect(await totals(shard)).toEqual({ good: 30, a: 4_000, b: 4_000 });
  expect(await waitingOf(shard)).toBe(1);
  expect(await touchedOf(shard)).toEqual([END_MS, END_MS + HOUR_MS / 2].map((atMs) => [atMs, atMs]));
  // A new reading that comes before the call for waiting sources.
  await landReadings(shard, [reading(SILENT, END_MS + HOUR_MS, 4_007, 'c')]);
  await rollUpSite(shard, bounded);
  expect(await totals(shard)).toEqual({ good: 30, a: 4_000, b: 4_000, c: 4_007 });
  expect(await waitingOf(shard)).toBe(0);

  const atOnce = await openTestShard();
  await landReadings(atOnce, [...silent(START_MS, 0), reading(GOOD, END_MS - HOUR_MS, 0)]);
  await landReadings(atOnce, [...silent(END_MS, 4_000), reading(GOOD, END_MS, 10)]);
  await landReadings(atOnce, [
    reading(GOOD, END_MS + HOUR_MS, 30),
    reading(SILENT, END_MS + HOUR_MS / 2, 4_003, 'c'),
    reading(SILENT, END_MS + HOUR_MS, 4_007, 'c'),
  ]);
  await rollUpSite(atOnce, site);
  const [found, wanted] = [await energyRows(shard), await energyRows(atOnce)];
  expect(found.intervals).toEqual(wanted.intervals);
  expect(found.days).toEqual(wanted.days);
  // Limits are learnt from the readings of waiting sources too.
  expect(await limitsOf(shard)).toEqual(await limitsOf(atOnce));
  expect(await limitsOf(shard)).not.toEqual([]);
});
