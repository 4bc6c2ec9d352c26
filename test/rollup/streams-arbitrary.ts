import fc from 'fast-check';
import type { EnergyStreamInput } from '../../src/config/energy-stream.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS, type UtcMs } from '../../src/lib/time.ts';
import { rounds } from '../support/rounds.ts';
import type { RandomReading, RandomStream } from './many-streams.ts';

/** The third roll-up is the first one on a connection that is kept from the one before. */
export const PARTS = rounds(3, 4);

const limits = { maxPower: '8 kW', jitter: '3 Wh' } as const;

/** Rules of every kind, each for its own table; table `beside` has three ways to tell the same energy. */
export const everyRule: EnergyStreamInput[] = [
  { table: 'total', field: 'total', method: 'total_energy', ...limits },
  { table: 'learnt', field: 'total', method: 'total_energy' },
  {
    table: 'kilo',
    field: 'total',
    method: 'total_energy',
    unit: 'kWh',
    multiplier: 0.1,
    maxPower: '800 kW',
    jitter: '300 Wh',
  },
  { table: 'modulus', field: 'total', method: 'total_energy', modulus: 6000, ...limits },
  { table: 'within', field: 'total', method: 'total_energy', boundary: 'within_day', ...limits },
  { table: 'net', field: 'power', method: 'total_energy', register: 'net' },
  { table: 'today', field: 'today', method: 'daily_energy', ...limits },
  { table: 'today_learnt', field: 'today', method: 'daily_energy' },
  { table: 'power', field: 'power', method: 'power_curve' },
  {
    table: 'inflow',
    field: 'power',
    method: 'power_curve',
    maxGap: '2h',
    direction: 'negative',
    maxPower: '8 kW',
  },
  {
    table: 'state',
    field: 'power',
    method: 'power_curve',
    sampling: 'on_change',
    direction: 'positive',
    maxPower: '8 kW',
  },
  { table: 'average', field: 'power', method: 'power_curve', sampling: 'interval_average' },
  {
    table: 'average_end',
    field: 'power',
    method: 'power_curve',
    sampling: 'interval_average',
    label: 'end',
    interval: '10m',
    maxPower: '3 kW',
  },
  { table: 'block', field: 'growth', method: 'interval_energy', interval: '30m', maxPower: '700 W' },
  { table: 'block_learnt', field: 'growth', method: 'interval_energy', label: 'end' },
  { table: 'beside', field: 'total', method: 'total_energy', ...limits },
  { table: 'beside', field: 'today', method: 'daily_energy', ...limits },
  { table: 'beside', field: 'power', method: 'power_curve', maxGap: '30m' },
];
const tables = [...new Set(everyRule.map(({ table }) => table))];

const faults = [
  'none',
  'none',
  'none',
  'none',
  'none',
  'zero',
  'dip',
  'sink',
  'low',
  'spike',
  'jump',
  'restart',
  'stale',
  'wrong',
] as const;

const stepArbitrary = fc.record({
  afterMs: fc.oneof(
    fc.integer({ min: 1, max: 6 }).map((count) => count * 5 * MINUTE_MS),
    fc.integer({ min: 1_000, max: 20 * MINUTE_MS }),
    fc.integer({ min: 10 * MINUTE_MS, max: 4 * HOUR_MS }),
    fc.integer({ min: HOUR_MS, max: 30 * HOUR_MS }),
  ),
  growth: fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 400 })),
  fault: fc.constantFrom(...faults),
  power: fc.oneof(fc.constant(0), fc.integer({ min: -5_000, max: 5_000 })),
  shows: fc.tuple(fc.boolean(), fc.boolean(), fc.boolean()),
  part: fc.integer({ min: 0, max: PARTS - 1 }),
  againPart: fc.option(fc.integer({ min: 0, max: PARTS - 1 }), { nil: undefined, freq: 4 }),
  lateMs: fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, fc.integer({ min: HOUR_MS, max: 3 * DAY_MS })),
});
type Step = typeof stepArbitrary extends fc.Arbitrary<infer Value> ? Value : never;

/** Any device with any faults; now and then a reading is revised or cannot be read. */
export function anyStream(startMs: UtcMs, stepsMax = 16): fc.Arbitrary<RandomStream> {
  return fc
    .record({
      table: fc.constantFrom(...tables),
      start: fc.integer({ min: 0, max: 5 * 96 }),
      register: fc.constantFrom(0, 300, 5_000, 1_234_567),
      steps: fc.array(stepArbitrary, { minLength: 2, maxLength: stepsMax, size: 'max' }),
    })
    .map(({ table, start, register, steps }) => ({
      table,
      readings: [...readingsOf(startMs + start * 15 * MINUTE_MS, register, steps, table === 'beside')],
    }));
}

/** The disturbance that a register or power shows in an hour of the day, beside its growth. */
const hourArbitrary = fc.record({
  growth: fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 400 })),
  fault: fc.oneof(
    { weight: 30, arbitrary: fc.constant('none') },
    fc.constantFrom('zero', 'spike', 'restart', 'jump'),
  ),
  part: fc.oneof({ weight: 30, arbitrary: fc.constant(0) }, fc.integer({ min: 1, max: PARTS - 1 })),
});

/**
 * A device that shows zero every night for weeks, hour by hour; nearly all of it comes at once, and some
 * hours later.
 */
export function nightlyStream(startMs: UtcMs, daysMax = 16): fc.Arbitrary<RandomStream> {
  return fc
    .record({
      table: fc.constantFrom('total', 'learnt', 'modulus', 'within', 'today', 'power', 'block'),
      hours: fc.array(hourArbitrary, { minLength: 5 * 24, maxLength: daysMax * 24, size: 'max' }),
    })
    .map(({ table, hours }) => {
      let total = 1_000_000;
      const readings = hours.map(({ growth, fault, part }, hour): RandomReading => {
        if (fault === 'restart') total = growth;
        const isNight = hour % 24 < 6;
        total += (isNight ? 0 : growth) + (fault === 'jump' ? 500_000 : 0);
        const shown = (value: number) =>
          isNight || fault === 'zero' ? 0 : fault === 'spike' ? value + 9e6 : value;
        const data = {
          total: shown(total),
          today: shown(total % 24),
          power: shown(growth),
          growth: shown(growth),
        };
        return { atMs: startMs + hour * HOUR_MS, part, lateMs: 0, data };
      });
      return { table, readings };
    });
}

const standingStepArbitrary = fc.record({
  afterMs: fc.oneof(
    fc.integer({ min: 5, max: 30 }).map((minutes) => minutes * MINUTE_MS),
    fc.integer({ min: HOUR_MS, max: 6 * HOUR_MS }),
  ),
  change: fc.oneof(
    { weight: 4, arbitrary: fc.constant(0) },
    { weight: 5, arbitrary: fc.integer({ min: -3, max: 3 }) },
    { weight: 1, arbitrary: fc.integer({ min: 2_000, max: 60_000 }) },
  ),
  part: fc.integer({ min: 0, max: PARTS - 1 }),
});

/**
 * A register that stands still or falls by its jitter for hours, and then shows at once the energy that it
 * has counted meanwhile. Late readings say how long it had stood still, and move its high-water mark far
 * beyond their neighbours.
 */
export function standingStream(startMs: UtcMs): fc.Arbitrary<RandomStream> {
  return fc
    .record({
      table: fc.constantFrom('total', 'learnt', 'modulus', 'within'),
      steps: fc.array(standingStepArbitrary, { minLength: 8, maxLength: 30, size: 'max' }),
    })
    .map(({ table, steps }) => {
      let [atMs, total] = [startMs, 5_000];
      const readings = steps.map(({ afterMs, change, part }): RandomReading => {
        atMs += afterMs;
        total += change;
        return { atMs, part, lateMs: 0, data: { total } };
      });
      return { table, readings };
    });
}

function* readingsOf(
  startMs: UtcMs,
  register: number,
  steps: readonly Step[],
  several: boolean,
): Generator<RandomReading> {
  let [atMs, total, today, day] = [startMs, register, 0, 0];
  for (const { afterMs, growth, fault, power, shows, part, againPart, lateMs } of steps) {
    atMs += afterMs;
    const dayNow = Math.floor(atMs / DAY_MS);
    if (dayNow !== day && fault !== 'stale') [today, day] = [0, dayNow];
    if (fault === 'restart') [total, today] = [growth, growth];
    else if (fault === 'sink') [total, today] = [Math.max(0, total - 2), Math.max(0, today - 2)];
    else if (fault === 'jump') [total, today] = [total + 500_000, today + 500_000];
    else [total, today] = [total + growth, fault === 'stale' ? today : today + growth];
    const shown = (value: number) =>
      fault === 'zero'
        ? 0
        : fault === 'low'
          ? growth
          : fault === 'dip'
            ? Math.max(0, value - 2)
            : fault === 'spike'
              ? value + 9e6
              : value;
    const base = { atMs, part, lateMs, ...(againPart !== undefined && againPart !== part && { againPart }) };
    const shownPower = fault === 'spike' ? (power < 0 ? power - 900_000 : power + 900_000) : power;
    const data = {
      ...((shows[0] || !several) && { total: fault === 'wrong' ? null : shown(total) }),
      ...((shows[1] || !several) && { today: fault === 'wrong' ? 'Inf' : shown(today) }),
      ...((shows[2] || !several) && { power: shownPower }),
      growth: fault === 'spike' ? growth + 900_000 : growth,
    };
    yield { ...base, data };
    // A revision, by its number or by its place in the log alone, comes in any part and counts whenever it
    // comes.
    if (fault === 'none' && shows[0] && shows[1] && !shows[2] && growth % 4 === 1) {
      yield {
        ...base,
        part: (part + 1) % PARTS,
        ...(growth % 8 === 1 && { revision: 7 }),
        data: { ...data, total: total + 1, today: today + 1, power: power + 1 },
      };
    }
  }
}
