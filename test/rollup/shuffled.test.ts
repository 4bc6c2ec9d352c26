import fc from 'fast-check';
import { expect, test } from 'vitest';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../src/time.ts';
import { openTestShard } from '../warehouse/support.ts';
import { type CaseReading, type EnergySite, energyRows, landReadings, rollUpSite } from './support.ts';

const DEVICES = 25;
const PARTS = 5;

const site: EnergySite = {
  timezone: 'Europe/Paris',
  streams: [
    { table: 't', field: 'total', method: 'total_energy', maxPower: '8 kW', jitter: '3 Wh' },
    { table: 't', field: 'learnt', method: 'total_energy' },
    { table: 't', field: 'modulus', method: 'total_energy', maxPower: '8 kW', jitter: '3 Wh', modulus: 6000 },
    { table: 't', field: 'within', method: 'total_energy', maxPower: '8 kW', boundary: 'within_day' },
    { table: 't', field: 'today', method: 'daily_energy', maxPower: '8 kW', jitter: '3 Wh' },
    { table: 't', field: 'power', method: 'power_curve' },
    { table: 't', field: 'state', method: 'power_curve', sampling: 'on_change', direction: 'negative' },
    { table: 't', field: 'average', method: 'power_curve', sampling: 'interval_average', label: 'end' },
    { table: 't', field: 'block', method: 'interval_energy', interval: '30m' },
  ],
};

const stepArbitrary = fc.record({
  afterMs: fc.oneof(
    fc.integer({ min: 1_000, max: 10 * MINUTE_MS }),
    fc.integer({ min: 10 * MINUTE_MS, max: 4 * HOUR_MS }),
    fc.integer({ min: HOUR_MS, max: 30 * HOUR_MS }),
  ),
  growth: fc.integer({ min: 0, max: 400 }),
  fault: fc.constantFrom('none', 'none', 'none', 'none', 'zero', 'dip', 'spike', 'restart', 'stale'),
  power: fc.integer({ min: -5_000, max: 5_000 }),
  shows: fc.tuple(fc.boolean(), fc.boolean(), fc.boolean()),
  part: fc.integer({ min: 0, max: PARTS - 1 }),
});
type Step = typeof stepArbitrary extends fc.Arbitrary<infer Value> ? Value : never;

/** What a device says that has the steps behind it, over the night in which clocks change, and the part each message comes in. */
function* messagesOf(device: string, steps: readonly Step[]): Generator<[part: number, CaseReading]> {
  let [atMs, total, today, day] = [Date.UTC(2026, 2, 27, 20), 5_000, 0, 0];
  for (const { afterMs, growth, fault, power, shows, part } of steps) {
    atMs += afterMs;
    const dayNow = Math.floor((atMs + HOUR_MS) / DAY_MS);
    if (dayNow !== day && fault !== 'stale') [today, day] = [0, dayNow];
    total = fault === 'restart' ? 0 : total + growth;
    today = fault === 'restart' ? 0 : fault === 'stale' ? today : today + growth;
    const shown = (value: number) =>
      ({
        none: value,
        restart: value,
        stale: value,
        zero: 0,
        dip: Math.max(0, value - 2),
        spike: value + 9e6,
      })[fault];
    const data = {
      ...(shows[0] && {
        total: shown(total),
        learnt: shown(total),
        modulus: shown(total) % 6000,
        within: shown(total),
      }),
      ...(shows[1] && { today: shown(today), block: growth }),
      ...(shows[2] && { power, state: power, average: power }),
    };
    yield [part, { event_time: new Date(atMs).toISOString(), device, data }];
  }
}

async function rolledUp(parts: readonly (readonly CaseReading[])[]) {
  const shard = await openTestShard();
  for (const part of parts) {
    await landReadings(shard, part);
    await rollUpSite(shard, site);
  }
  return energyRows(shard);
}

test('readings of every method with every fault give the same rows in whatever order they come', {
  timeout: 60_000,
}, async () => {
  const devices = fc.sample(fc.array(stepArbitrary, { minLength: 2, maxLength: 25 }), {
    numRuns: DEVICES,
    seed: 20_261_121,
  });
  const parts: CaseReading[][] = Array.from({ length: PARTS }, () => []);
  let offset = 0n;
  for (const [number, steps] of devices.entries()) {
    const device = `00000000-0000-4000-8000-${String(number).padStart(12, '0')}`;
    for (const [part, reading] of messagesOf(device, steps)) {
      offset += 1n;
      parts[part]!.push({ ...reading, offset });
    }
  }
  const whole = await rolledUp([parts.flat()]);
  const inParts = await rolledUp(parts);
  expect(inParts.days).toEqual(whole.days);
  expect(inParts.intervals).toEqual(whole.intervals);
  expect(new Set(whole.days.map(({ method }) => method)).size).toBe(4);
});
