import * as fc from 'fast-check';
import { pino } from 'pino';
import { expect, test } from 'vitest';
import { HOUR_MS, MINUTE_MS, SECOND_MS } from '../../../src/lib/time.ts';
import { createRetentionFloor } from '../../../src/stream/log/retention-floor.ts';
import { TEST_START_MS } from '../../support/test-clock.ts';

const RETENTION_MS = HOUR_MS;

function setUp(newestAgoMs?: number) {
  let nowMs = TEST_START_MS;
  let elapsedMs = 5_000.1234;
  const clock = { now: () => nowMs, elapsed: () => elapsedMs };
  const logged: unknown[] = [];
  const retention = createRetentionFloor({
    clock,
    retentionMs: RETENTION_MS,
    newestMs: newestAgoMs === undefined ? undefined : TEST_START_MS - newestAgoMs,
    logger: pino({}, { write: (line) => void logged.push(JSON.parse(line)) }),
  });
  return {
    retention,
    logged,
    now: () => nowMs,
    elapsed: () => elapsedMs,
    pass(ms: number) {
      nowMs += ms;
      elapsedMs += ms;
    },
    set(ms: number) {
      nowMs += ms;
    },
  };
}

/** Fractions of a millisecond are rounded down. */
function near({ retention }: ReturnType<typeof setUp>, expectedMs: number): void {
  expect(Math.abs(retention.floorMs() - expectedMs)).toBeLessThanOrEqual(1);
}

test('without a jump the floor is the retention before now, also with a slow drift', () => {
  const at = setUp();
  near(at, TEST_START_MS - RETENTION_MS);
  for (let minute = 0; minute < 180; minute++) {
    at.pass(MINUTE_MS);
    at.set(500);
    const floorMs = at.retention.floorMs();
    expect(Number.isInteger(floorMs)).toBe(true);
    expect(Math.abs(floorMs - (at.now() - RETENTION_MS))).toBeLessThanOrEqual(1);
  }
});

test('the floor is a whole number of milliseconds, also after a jump', () => {
  const at = setUp();
  at.set(10 * HOUR_MS);
  at.retention.floorMs();
  at.pass(0.4);
  expect(Number.isInteger(at.retention.floorMs())).toBe(true);
});

test('after a jump forward messages keep their full retention, and then the new time counts', () => {
  const at = setUp();
  at.retention.floorMs();
  const jumpedAtMs = at.now();
  at.set(10 * HOUR_MS);
  near(at, jumpedAtMs - RETENTION_MS);
  at.pass(RETENTION_MS - 1);
  near(at, jumpedAtMs - 1);
  at.pass(3);
  near(at, at.now() - RETENTION_MS);
});

test('each jump of the clock is logged once, forward and back, and small adjustments and a start are not', () => {
  const at = setUp(3 * HOUR_MS);
  for (const setMs of [10 * HOUR_MS, 5_000, -5_000, -2 * HOUR_MS, 0]) {
    at.set(setMs);
    at.retention.floorMs();
    at.pass(MINUTE_MS);
    at.retention.floorMs();
  }
  expect(at.logged).toMatchObject([
    { level: 40, msg: 'stream.clock-was-set', jumpMs: 10 * HOUR_MS },
    { level: 40, msg: 'stream.clock-was-set', jumpMs: -2 * HOUR_MS },
  ]);
});

test('after a start, the time continues at the newest message for one retention', () => {
  const at = setUp(3 * HOUR_MS);
  near(at, TEST_START_MS - 4 * HOUR_MS);
  at.pass(RETENTION_MS - 1);
  near(at, TEST_START_MS - 3 * HOUR_MS - 1);
  at.pass(2);
  near(at, at.now() - RETENTION_MS);
  // A newest message in the future comes from a clock that was set back meanwhile.
  near(setUp(-3 * HOUR_MS), TEST_START_MS - RETENTION_MS);
});

test('a message stays for its retention, and longer only by the time that the clock was set back', () => {
  const step = fc.record({
    passMs: fc.integer({ min: 0, max: 40 * MINUTE_MS }),
    setMs: fc.oneof(
      fc.constant(0),
      fc.integer({ min: -3 * HOUR_MS, max: 3 * HOUR_MS }),
      fc.integer({ min: -6 * SECOND_MS, max: 6 * SECOND_MS }),
    ),
    looks: fc.boolean(),
  });
  void fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const at = setUp();
      const appended: Array<{ ms: number; elapsedMs: number; adjustedMs: number; backMs: number }> = [];
      let lastMs = 0;
      let adjustedMs = 0;
      let backMs = 0;
      for (const { passMs, setMs, looks } of steps) {
        at.pass(passMs);
        at.set(setMs);
        // Small adjustments are not jumps, so the floor may be off by their sum.
        adjustedMs += Math.min(Math.abs(setMs), 2 * 6 * SECOND_MS);
        backMs += Math.max(0, -setMs);
        lastMs = Math.max(lastMs, at.now());
        // A message continues at the last store time if the clock is behind it.
        appended.push({
          ms: lastMs,
          elapsedMs: at.elapsed(),
          adjustedMs,
          backMs: backMs - (lastMs - at.now()),
        });
        const floorMs = at.retention.floorMs();
        if (!looks) continue;
        const wrong = appended.filter((one) => {
          const ageMs = at.elapsed() - one.elapsedMs;
          const offMs = adjustedMs - one.adjustedMs + 12 * SECOND_MS;
          return one.ms < floorMs
            ? ageMs + offMs < RETENTION_MS
            : ageMs - offMs > RETENTION_MS + backMs - one.backMs;
        });
        expect(wrong).toEqual([]);
      }
    }),
    { numRuns: 2_000 },
  );
});
