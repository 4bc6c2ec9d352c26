import fc from 'fast-check';
import { dayBounds, HOUR_MS, localDateOf, MINUTE_MS, type UtcMs } from '../../src/lib/time.ts';
import type { RandomReading, RandomStream } from './many-streams.ts';

/**
 * Streams with only one answer by the rules. Events of a register differ by more than its jitter. An
 * excursion is of one kind and ends. A jump that stays lasts for more than a day.
 */

/** Most power (W) and jitter (Wh) of the registers, in steps of the register. */
export const CLEAR_POWER_W = 8_000;
export const CLEAR_JITTER_WH = 3;
export const CLEAR_MODULUS_WH = 60_000;

const step = fc.record({
  afterMs: fc.oneof(
    fc.integer({ min: 1, max: 6 }).map((count) => count * 5 * MINUTE_MS),
    fc.integer({ min: MINUTE_MS, max: 30 * MINUTE_MS }),
    fc.integer({ min: 30 * MINUTE_MS, max: 5 * HOUR_MS }),
    fc.integer({ min: HOUR_MS, max: 40 * HOUR_MS }),
  ),
  /** The share of the growth that is possible in the time. */
  growth: fc.oneof(
    fc.constant(0),
    fc.integer({ min: 1, max: 80 }).map((percent) => percent / 100),
  ),
  act: fc.constantFrom(
    'grow',
    'grow',
    'grow',
    'grow',
    'dip',
    'zeros',
    'lows',
    'spike',
    'jump',
    'reset',
    'fall',
    'wrong',
    'revised',
    'text',
  ),
  amount: fc.integer({ min: 0, max: 50 }),
  times: fc.integer({ min: 1, max: 4 }),
});
type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never;
type Shape = 'total' | 'modulus' | 'clean';

/** Far above all values that registers here show otherwise. */
const SPIKE_STEPS = 70_000_000_000;
/** Each jump is twice the one before, so that no level comes again. */
const FIRST_JUMP_STEPS = 100_000_000;
const LONG_MS = 25 * HOUR_MS;
const fault = { isFault: true };
const noTurn = { part: 0, lateMs: 0 };

/** A lifetime register in whole steps of `size` Wh; `clean` ones have only growth, glitches and spikes. */
export function clearRegister(
  table: string,
  startMs: UtcMs,
  show: (steps: number) => Record<string, number>,
  shape: Shape = 'total',
): fc.Arbitrary<RandomStream> {
  return fc
    .record({
      quarters: fc.integer({ min: 0, max: 3 * 96 }),
      first: fc.constantFrom(0, 40, 6_000, 56_000, 1_234_567),
      steps: fc.array(step, { minLength: 2, maxLength: 25, size: 'max' }),
    })
    .map(({ quarters, first, steps }) => ({
      table,
      readings: [...registerReadings(startMs + quarters * 15 * MINUTE_MS, first, steps, show, shape)],
    }));
}

function* registerReadings(
  startMs: UtcMs,
  first: number,
  steps: readonly Step[],
  show: (steps: number) => Record<string, number>,
  shape: Shape,
): Generator<RandomReading> {
  const size = shape === 'modulus' ? CLEAR_MODULUS_WH : Number.POSITIVE_INFINITY;
  const reading = (ms: UtcMs, steps: number, more: Partial<RandomReading> = {}): RandomReading => ({
    ...noTurn,
    atMs: ms,
    data: show(steps),
    ...more,
  });
  let [atMs, value, jump, spike] = [startMs, first % size, FIRST_JUMP_STEPS, SPIKE_STEPS];
  yield reading(atMs, value);
  for (const { afterMs, growth, act, amount, times } of steps) {
    const grown = Math.min(3_000, Math.floor((growth * CLEAR_POWER_W * afterMs) / HOUR_MS));
    const before = value;
    atMs += afterMs;
    value = (value + grown) % size;
    const isClean = shape === 'clean';
    if (act === 'dip' && !isClean && value >= before) {
      yield reading(atMs, Math.max(0, value - 1 - (amount % CLEAR_JITTER_WH)));
      continue;
    }
    if ((act === 'zeros' || (act === 'lows' && value < 10_000)) && value >= before && before > 100) {
      // An excursion to zero may last long, and the register could have grown much since.
      const apartMs = (1 + (amount % 3) * 90) * MINUTE_MS;
      for (let time = 0; time < times; time += 1) yield reading(atMs + time * apartMs, 0, fault);
      atMs += times * apartMs;
      // The values after the excursion last longer than it.
      yield reading(atMs, value);
      atMs += 5 * MINUTE_MS;
    } else if (act === 'lows' && value >= before && before > 100) {
      for (let time = 0; time < times; time += 1) yield reading(atMs + time * MINUTE_MS, 1 + time, fault);
      atMs += times * MINUTE_MS;
      // The values after the excursion last longer than it.
      yield reading(atMs, value);
      atMs += 5 * MINUTE_MS;
    } else if (act === 'spike' && value >= before) {
      spike -= 1_000_000_000;
      yield reading(atMs, spike + amount, fault);
      atMs += MINUTE_MS;
    } else if (act === 'jump' && shape === 'total' && jump < 40 * FIRST_JUMP_STEPS) {
      value += jump;
      jump *= 2;
      yield reading(atMs, value);
      atMs += LONG_MS;
    } else if (act === 'reset' && !isClean && before > amount + 10 && jump === FIRST_JUMP_STEPS) {
      value = amount;
      atMs += 10 * MINUTE_MS;
    } else if (act === 'fall' && shape === 'total' && before > 50_000_000) {
      value = Math.floor(before * 0.37);
    } else if (act === 'wrong') {
      const wrong = [null, 'abc', -5, '12,5', true][amount % 5]!;
      yield reading(atMs, 0, { data: Object.fromEntries(Object.keys(show(0)).map((name) => [name, wrong])) });
      atMs += MINUTE_MS;
    } else if (act === 'revised') {
      yield reading(atMs, value + 70_000, { revision: 3, ...fault });
      yield reading(atMs, value + 9, { revision: 8, ...fault });
      yield reading(atMs, value, { revision: 8 });
      yield reading(atMs, value + 50_000, fault);
      continue;
    } else if (act === 'text') {
      const shown = show(value);
      yield reading(atMs, value, {
        data: {
          ...shown,
          ...Object.fromEntries(
            Object.entries(shown).map(([name, one]) => [name, typeof one === 'number' ? ` ${one} ` : one]),
          ),
        },
      });
      continue;
    }
    yield reading(atMs, value);
  }
}

const day = fc.record({
  isSilent: fc.boolean().map((one) => one),
  carried: fc.constantFrom(0, 0, 1, 3),
  /** When there are readings, as shares of the day. */
  at: fc.uniqueArray(fc.integer({ min: 1, max: 284 }), { minLength: 4, maxLength: 14, size: 'max' }),
  irregularMs: fc.constantFrom(0, 0, 77_777),
  steps: fc.array(step, { minLength: 14, maxLength: 14, size: 'max' }),
});

/** A register that restarts every day, at midnight or when its device wakes up. */
export function clearDailyRegister(
  table: string,
  startMs: UtcMs,
  timezone: string,
): fc.Arbitrary<RandomStream> {
  const firstDay = localDateOf(startMs, timezone);
  const bounds = dayBounds(firstDay, localDateOf(startMs + 5 * 24 * HOUR_MS, timezone), timezone);
  return fc.array(day, { minLength: 2, maxLength: 5, size: 'max' }).map((days) => {
    const readings: RandomReading[] = [];
    let shown = 0;
    for (const [index, { isSilent, carried, at, irregularMs, steps }] of days.entries()) {
      const { startMs: dayMs, endMs } = bounds[index]!;
      if (isSilent && index % 2 === 1) continue;
      const times = at
        .toSorted((a, b) => a - b)
        .map((share) => dayMs + share * 5 * MINUTE_MS + irregularMs)
        .filter((ms) => ms < endMs - 10 * MINUTE_MS);
      const before = shown;
      let value = 0;
      let isOut = false;
      for (const [place, atMs] of times.entries()) {
        const { growth, act, amount, times: lows } = steps[place]!;
        const put = (one: number) => readings.push({ ...noTurn, atMs, data: { today: one } });
        const previousMs = times[place - 1] ?? dayMs;
        const isLast: boolean = place >= times.length - 2 || isOut;
        isOut = false;
        const isCarried = before > 100;
        if (isCarried && place < carried) {
          put(before);
          continue;
        }
        const isFirst = place === 0 || (isCarried && place === carried);
        if (isFirst) {
          value = before > 0 ? Math.min(1 + amount, before - 10) : 0;
          if (before > 0 && value < 0) value = 0;
          put(value);
          continue;
        }
        const grown = Math.min(3_000, Math.floor((growth * CLEAR_POWER_W * (atMs - previousMs)) / HOUR_MS));
        isOut =
          !isLast &&
          (act === 'spike' ||
            (act === 'lows' && value > 5_000 && times[place + 1]! - atMs <= 30 * MINUTE_MS));
        if (isOut) put(act === 'spike' ? SPIKE_STEPS : amount + lows);
        else if (act === 'dip' && !isLast) put(Math.max(0, value - 1 - (amount % CLEAR_JITTER_WH)));
        else if (act === 'reset' && value > amount + 10 && !isLast) {
          value = 1 + amount;
          put(value);
        } else {
          value += grown;
          put(value);
        }
      }
      shown = value;
    }
    return { table, readings };
  });
}

/** More than any limit here allows, in every unit. */
const BEYOND = [11_000_000, -11_000_000, 8_400_000_000];

const sample = fc.record({
  skipped: fc.constantFrom(0, 0, 0, 0, 0, 1, 2, 3, 8, 30),
  irregularMs: fc.constantFrom(0, 0, 0, 61_234),
  value: fc.oneof(
    { weight: 4, arbitrary: fc.constant(0) },
    { weight: 5, arbitrary: fc.integer({ min: -5_000, max: 5_000 }) },
    { weight: 1, arbitrary: fc.constantFrom(...BEYOND) },
  ),
  wrong: fc.constantFrom(undefined, undefined, undefined, undefined, undefined, undefined, null, 'abc'),
});

/** Samples or intervals at multiples of a step after an offset, with gaps. */
export function clearSamples(
  table: string,
  startMs: UtcMs,
  stepMs: number,
  { isRegular = true, isPositive = false } = {},
): fc.Arbitrary<RandomStream> {
  return fc
    .record({
      offsetMs: fc.constantFrom(0, 0, 0, 120_000, 333_333),
      quarters: fc.integer({ min: 0, max: 3 * 96 }),
      samples: fc.array(sample, { minLength: 2, maxLength: 60, size: 'max' }),
    })
    .map(({ offsetMs, quarters, samples }) => {
      let atMs = startMs + quarters * 15 * MINUTE_MS + offsetMs;
      return {
        table,
        readings: samples.map(({ skipped, irregularMs, value, wrong }) => {
          atMs += stepMs * (1 + skipped);
          return {
            ...noTurn,
            atMs: atMs + (isRegular ? 0 : irregularMs),
            data: { value: wrong === undefined ? (isPositive ? Math.abs(value) : value) : wrong },
          };
        }),
      };
    });
}
