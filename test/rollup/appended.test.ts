import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Shard } from '../../src/warehouse/shard.ts';
import { rounds } from '../support/rounds.ts';
import { openTestShard, rowsOf } from '../warehouse/warehouse-fixture.ts';
import { type CaseReading, type EnergySite, energyRows, landReadings, rollUpSite } from './rollup-fixture.ts';

const STREAMS = 100;

/**
 * Energy, and what has been learnt on the way. Series are named: their numbers depend on which came first.
 */
async function everything(shard: Shard) {
  const named = (columns: string, table: string, where = 'true') =>
    rowsOf(
      shard,
      `SELECT s.device::VARCHAR AS device, st.identity->>'field' AS field, ${columns}
       FROM ${table} t JOIN series s ON s.series_id = t.series_id JOIN energy_stream st ON st.stream_id = s.stream_id WHERE ${where} ORDER BY ALL`,
    );
  return {
    ...(await energyRows(shard)),
    exact: await named(
      't.interval_start_ms::DOUBLE AS start_ms, t.exact_nwh::DOUBLE AS nwh, t.last_ms::DOUBLE AS last_ms, t.last_value',
      'interval_energy',
      't.covered_ms > 0 OR t.energy_wh <> 0',
    ),
    events: await named(
      't.kind, t.from_ms::DOUBLE AS from_ms, t.to_ms::DOUBLE AS to_ms, t.energy_wh',
      'energy_event',
    ),
    quarters: await named(
      't.interval_start_ms::DOUBLE AS start_ms, power_w, t.resolution, t.steps_ms::DOUBLE AS steps_ms, t.step_count, t.change_count',
      'series_quarter',
    ),
    learnt: await named(
      't.utc_day, t.learnt_power_w, t.learnt_resolution, t.learnt_step_ms::DOUBLE AS step_ms',
      'series_day',
    ),
  };
}

/** The rows of readings after a roll-up of each part, as it comes. */
async function rolledUp(site: EnergySite, parts: readonly (readonly CaseReading[])[]) {
  const shard = await openTestShard();
  for (const part of parts) {
    await landReadings(shard, part);
    await rollUpSite(shard, site);
  }
  // Through JSON, where minus zero is zero.
  return JSON.parse(JSON.stringify(await everything(shard))) as Awaited<ReturnType<typeof everything>>;
}

const site: EnergySite = {
  timezone: 'Europe/Paris',
  streams: [
    { table: 't', field: 'total', method: 'total_energy', unit: 'Wh' },
    {
      table: 't',
      field: 'total_limited',
      method: 'total_energy',
      unit: 'Wh',
      maxPower: '8 kW',
      jitter: '3 Wh',
    },
    { table: 't', field: 'net', method: 'total_energy', unit: 'Wh', register: 'net' },
    { table: 't', field: 'power', method: 'power_curve', unit: 'W' },
    {
      table: 't',
      field: 'state',
      method: 'power_curve',
      unit: 'W',
      sampling: 'on_change',
      direction: 'negative',
      maxPower: '8 kW',
    },
    { table: 't', field: 'power_limited', method: 'power_curve', unit: 'W', maxPower: '8 kW', maxGap: '1h' },
  ],
};

describe('readings in order, rolled up in parts, give the same rows as all together', () => {
  test('with steady growth, faults, restarts, silences and many readings in a quarter of an hour', async () => {
    const step = fc.record({
      afterMs: fc.oneof(fc.integer({ min: 1, max: 60_000 }), fc.integer({ min: 60_000, max: 4 * 3_600_000 })),
      growth: fc.double({ min: 0, max: 40, noNaN: true }),
      fault: fc.constantFrom('none', 'none', 'none', 'none', 'zero', 'dip', 'spike', 'restart'),
      power: fc.integer({ min: -5_000, max: 5_000 }),
      // In few parts, because each is rolled up.
      ends: fc.integer({ min: 0, max: rounds(15, 1) }).map((number) => number === 0),
    });
    const streams = fc.sample(fc.array(step, { minLength: 2, maxLength: 30 }), {
      numRuns: STREAMS,
      seed: 20_260_601,
    });
    const parts: CaseReading[][] = Array.from({ length: 31 }, () => []);
    for (const [number, steps] of streams.entries()) {
      let [atMs, total, part] = [Date.UTC(2026, 2, 28, 20), 5_000, 0];
      for (const { afterMs, growth, fault, power, ends } of steps) {
        atMs += afterMs;
        total = fault === 'restart' ? 0 : total + growth;
        const shown = { none: total, restart: total, zero: 0, dip: total - 2, spike: total + 9e6 }[fault];
        const watts = fault === 'spike' ? power * 1_000_000 : power;
        const data = {
          total: shown,
          total_limited: shown,
          net: total - power,
          power: watts,
          power_limited: watts,
          state: watts,
        };
        const device = `00000000-0000-4000-8000-${String(number).padStart(12, '0')}`;
        if (ends) part += 1;
        parts[part]!.push({ event_time: new Date(atMs).toISOString(), device, data });
      }
    }
    // Devices come together or apart, each in its own order.
    const inParts = await rolledUp(
      site,
      parts.filter((one) => one.length > 0),
    );
    const whole = await rolledUp(site, [parts.flat()]);
    expect(inParts).toEqual(whole);
    expect(whole.events.length).toBeGreaterThan(STREAMS);
  });
});
