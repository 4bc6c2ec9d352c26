import fc from 'fast-check';
import { DAY_MS, MINUTE_MS, type UtcMs } from '../../src/lib/time.ts';
import { deviceOf } from './many-streams.ts';

/** All that a gateway, a broken sensor or a stranger may send, beside one healthy device, the canary. */

export const CANARY = deviceOf(0);
export const POISON_START_MS = Date.UTC(2026, 10, 20, 10);
const FLT_MAX = 3.4028234663852886e38;

/** Every kind of number, and of values that are not numbers. */
export const poisonValues: readonly unknown[] = [
  FLT_MAX,
  -FLT_MAX,
  1e19,
  1e308,
  -1e308,
  Number.MAX_VALUE,
  Number.MIN_VALUE,
  Number.NaN,
  Number.POSITIVE_INFINITY,
  Number.NEGATIVE_INFINITY,
  -0,
  5e16,
  -5e16,
  1e15,
  -1e15,
  9.99e14,
  -9.99e14,
  1e10,
  4e10,
  5e9,
  2 ** 53,
  2 ** 63,
  2 ** 64,
  123_456_789_012_345_678_901_234_567_890n,
  -(2n ** 63n),
  10n ** 400n,
  null,
  true,
  '',
  '1e400',
  '-1e19',
  'NaN',
  '\ud800',
  `"'; DROP TABLE reading; -- \u0000 \u{1f50c}`,
  'x'.repeat(65_536),
  { deep: { '\udfff': ['\ud800', 1e300] } },
  [1, [2, [3]]],
  new Uint8Array([0, 255, 128]),
];

const poisonNames = [
  'roof',
  `"'\\`,
  '\u{1f50c}',
  '\u0000',
  'a.b/c~d',
  ' ',
  'x'.repeat(128),
  'default',
  '$',
  '%',
];

/** Event times from the first to the last instant that the wire takes. */
const poisonTimes: readonly UtcMs[] = [
  0,
  1,
  978_307_199_999,
  Date.UTC(2026, 6, 1),
  253_402_300_799_999,
  Date.UTC(9999, 0, 1),
];

const reading = fc.record({
  device: fc.integer({ min: 1, max: 4 }),
  source: fc.constantFrom(null, ...poisonNames),
  table: fc.constantFrom('total', 'net', 'today', 'power', 'average', 'block', 'beside', 'giga'),
  atMs: fc.oneof(
    {
      weight: 8,
      arbitrary: fc.integer({ min: 0, max: 240 }).map((count) => POISON_START_MS + count * MINUTE_MS),
    },
    { weight: 2, arbitrary: fc.constantFrom(...poisonTimes) },
    { weight: 1, arbitrary: fc.integer({ min: 1, max: 30 }).map((days) => POISON_START_MS - days * DAY_MS) },
  ),
  /** A stream of another vendor says itself when it stored a message. */
  storeTime: fc.oneof(
    { weight: 9, arbitrary: fc.constant(undefined) },
    { weight: 1, arbitrary: fc.constantFrom(0, Date.UTC(9999, 0, 1), 253_402_300_799_999) },
  ),
  total: fc.oneof(fc.constantFrom(...poisonValues), fc.integer({ min: 0, max: 1_000_000 })),
  power: fc.oneof(fc.constantFrom(...poisonValues), fc.integer({ min: 0, max: 10_000 })),
  unit: fc.constantFrom(undefined, 'Wh', 'TWh', '\ud800', null, 5),
  times: fc.constantFrom(1, 1, 1, 2),
});
export type PoisonReading = typeof reading extends fc.Arbitrary<infer Value> ? Value : never;

/** Posts of poison; the canary reports in each of them. */
export const poisonPosts = fc.array(
  fc.record({
    readings: fc.array(reading, { minLength: 1, maxLength: 25, size: 'max' }),
    /** The warehouse is closed and opened again before this post. */
    restarts: fc.boolean(),
  }),
  { minLength: 2, maxLength: 4 },
);

/** The messages of a post, as a server of the contract or another vendor's would send them. */
export function poisonMessages(readings: readonly PoisonReading[]) {
  return readings.flatMap(({ device, source, table, atMs, storeTime, total, power, unit, times }) => {
    const message = {
      table,
      kind: 'telemetry',
      device: deviceOf(device),
      source,
      event_time: atMs,
      store_time: storeTime ?? Math.max(POISON_START_MS, Math.min(atMs, POISON_START_MS + DAY_MS)) + 1_000,
      data: { total, power, ...(unit !== undefined && { unit }) },
    };
    return Array.from({ length: times }, () => message);
  });
}
