import { join } from 'node:path';
import type { DuckDBListValue } from '@duckdb/node-api';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { EnergyStreamInput } from '../../src/config/energy-stream.ts';
import { MINUTE_MS, SECOND_MS } from '../../src/lib/time.ts';
import { isSoak, rounds, sampled } from '../support/rounds.ts';
import { tempDir } from '../support/temp-dir.ts';
import { openTestShard, rowsOf } from '../warehouse/warehouse-fixture.ts';
import { deviceOf } from './many-streams.ts';
import {
  type CaseReading,
  type EnergySite,
  energyByDay,
  energyRows,
  landReadings,
  rollUpSite,
} from './rollup-fixture.ts';

/**
 * New installations: one device or two, an empty data folder, a few readings every few seconds. Large
 * warehouses cannot show what goes wrong here, because a rule that looks at all series at once then never
 * finds all of them in one state.
 */

const START_MS = Date.UTC(2026, 10, 20, 10, 0, 30);
const streams: EnergyStreamInput[] = [
  { table: 'total', field: 'total', method: 'total_energy' },
  { table: 'limited', field: 'total', method: 'total_energy', maxPower: '10 MW', jitter: '1 Wh' },
  { table: 'today', field: 'total', method: 'daily_energy' },
  { table: 'power', field: 'power', method: 'power_curve' },
  { table: 'state', field: 'power', method: 'power_curve', sampling: 'on_change' },
  { table: 'average', field: 'power', method: 'power_curve', sampling: 'interval_average' },
  { table: 'block', field: 'power', method: 'interval_energy', interval: '1m' },
  { table: 'beside', field: 'total', method: 'total_energy' },
  { table: 'beside', field: 'power', method: 'power_curve' },
];
const site: EnergySite = { timezone: 'Europe/Berlin', streams };
const tables = [...new Set(streams.map(({ table }) => table))];

const reading = fc.record({
  device: fc.integer({ min: 0, max: 1 }),
  afterMs: fc.oneof(
    { weight: 4, arbitrary: fc.integer({ min: 1, max: 30 }).map((count) => count * SECOND_MS) },
    { weight: 1, arbitrary: fc.integer({ min: 1, max: 20 }).map((count) => count * MINUTE_MS) },
  ),
  growth: fc.integer({ min: 0, max: 50 }),
  shows: fc.constantFrom('value', 'value', 'value', 'value', 'zero'),
  power: fc.integer({ min: 0, max: 5_000 }),
  /** It comes this many posts later. */
  late: fc.constantFrom(0, 0, 0, 0, 1, 2),
});

const installation = fc.record({
  tables: fc.tuple(fc.constantFrom(...tables), fc.constantFrom(...tables)),
  devices: fc.integer({ min: 1, max: 2 }),
  posts: fc.array(fc.array(reading, { minLength: 1, maxLength: 4 }), {
    minLength: rounds(3, 1),
    maxLength: rounds(3, 4),
  }),
  /** The process restarts between two posts. */
  restarts: fc.boolean(),
});

// The next test has the energy after each post, and rollup-properties.test.ts compares parts with the whole.
test.runIf(isSoak)(
  'from the first reading of an empty data folder on, every post leaves the same rows as all readings at once',
  {
    timeout: 600_000,
  },
  async () => {
    await fc.assert(
      fc.asyncProperty(installation, async ({ tables, devices, posts, restarts }) => {
        const batches = messagesOf(tables, devices, posts);
        const compared = new Set(sampled(batches, 2));
        const path = join(tempDir(), 'grown.duckdb');
        let grown = await openTestShard({ path });
        for (const [index, batch] of batches.entries()) {
          if (restarts && index > 0) {
            await grown.close();
            grown = await openTestShard({ path });
          }
          if (batch.length > 0) await landReadings(grown, batch);
          await rollUpSite(grown, site);
          // In the soak after each post.
          if (!compared.has(batch)) continue;
          const whole = await openTestShard();
          const all = batches.slice(0, index + 1).flat();
          if (all.length > 0) await landReadings(whole, all);
          await rollUpSite(whole, site);
          expect(await energyRows(grown)).toEqual(await energyRows(whole));
          await whole.close();
        }
        await grown.close();
      }),
      { numRuns: rounds(1, 12), seed: 20_261_122 },
    );
  },
);

function messagesOf(
  tables: readonly string[],
  devices: number,
  posts: ReadonlyArray<ReadonlyArray<typeof reading extends fc.Arbitrary<infer Value> ? Value : never>>,
): CaseReading[][] {
  const batches: CaseReading[][] = Array.from({ length: posts.length + 2 }, () => []);
  const totals = [1_200_000, 0];
  let atMs = START_MS;
  let offset = 1n;
  for (const [post, readings] of posts.entries()) {
    for (const { device, afterMs, growth, shows, power, late } of readings) {
      const place = device % devices;
      atMs += afterMs;
      totals[place]! += growth;
      batches[post + late]!.push({
        event_time: new Date(atMs).toISOString(),
        table: tables[place]!,
        device: deviceOf(place),
        offset: offset++,
        data: { total: shows === 'zero' ? 0 : totals[place]!, power },
      });
    }
  }
  return batches;
}

test('a register posted every few seconds is exact after each post, from the first on', async () => {
  const shard = await openTestShard();
  const only: EnergySite = { timezone: 'Etc/UTC', streams: [streams[0]!] };
  const after: Array<number | undefined> = [];
  for (let post = 0; post < 5; post++) {
    const readings = [0, 20, 40].map((second, index) => ({
      event_time: new Date(START_MS + post * MINUTE_MS + second * SECOND_MS).toISOString(),
      table: 'total',
      data: { total: 1_000_000 + post * 30 + index * 10 },
    }));
    await landReadings(shard, readings);
    await rollUpSite(shard, only);
    after.push((await energyByDay(shard))['2026-11-20']);
  }
  expect(after).toEqual([20, 50, 80, 110, 140]);
});

test('energy that an earlier version counted twice is corrected, with a cause at the day', async () => {
  const shard = await openTestShard();
  const only: EnergySite = { timezone: 'Etc/UTC', streams: [streams[0]!] };
  const at = (second: number) => new Date(START_MS + second * SECOND_MS).toISOString();
  await landReadings(shard, [
    { event_time: at(0), table: 'total', data: { total: 100 } },
    { event_time: at(20), table: 'total', data: { total: 150 } },
  ]);
  await rollUpSite(shard, only);
  // As the first version left it: no version of its rules, and the stored interval added to a full count.
  await rowsOf(shard, `UPDATE energy_stream SET settings = json_merge_patch(settings, '{"rules": null}')`);
  await rowsOf(shard, 'UPDATE interval_energy SET energy_wh = 100, covered_ms = 40000');
  await rowsOf(shard, 'UPDATE daily_energy SET energy_wh = 100');
  expect(await rollUpSite(shard, only)).toMatchObject({ readings: 0, days: 1 });
  expect(await energyByDay(shard)).toEqual({ '2026-11-20': 50 });
  const versions = await rowsOf(shard, 'SELECT version, causes FROM daily_energy_history ORDER BY version');
  expect(versions.map(({ version, causes }) => [version, (causes as DuckDBListValue).items])).toEqual([
    [1, ['stream']],
    [2, ['rules']],
  ]);
  expect(await rollUpSite(shard, only)).toMatchObject({ days: 0 });
});
