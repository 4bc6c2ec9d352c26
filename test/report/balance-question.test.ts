import { expect, test } from 'vitest';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../src/lib/time.ts';
import { elapsedIntervalsOf, refuseSize } from '../../src/report/balance-question.ts';

const endDay = '2026-11-20';
/** The end of the day in Paris. */
const endMs = Date.parse('2026-11-20T23:00:00Z');
const elapsedAt = (afterMs: number, zone = 'Europe/Paris') =>
  elapsedIntervalsOf({ endDay, zone, nowMs: endMs + afterMs });

test('a balance depends on the current interval until an hour and an interval after the range', () => {
  const lastMs = HOUR_MS + 15 * MINUTE_MS;
  expect(elapsedAt(-DAY_MS)).not.toBe('over');
  expect(elapsedAt(lastMs - 1)).not.toBe('over');
  expect(elapsedAt(lastMs)).toBe('over');
  // The day ends an hour later in UTC.
  expect(elapsedAt(lastMs, 'Etc/UTC')).not.toBe('over');
});

test('the current interval changes each quarter of an hour, and not within it', () => {
  expect(elapsedAt(15 * MINUTE_MS - 1)).toBe(elapsedAt(0));
  expect(elapsedAt(15 * MINUTE_MS)).not.toBe(elapsedAt(0));
});

test('a balance needs a source with a role, and at most 50,000 days of sources', () => {
  expect(() => refuseSize({ sources: 0, source_days: 0 })).toThrow('declare roles in the configuration');
  expect(() => refuseSize({ sources: 1, source_days: 50_000 })).not.toThrow();
  expect(() => refuseSize({ sources: 1, source_days: 50_001 })).toThrow(
    'the answer would need 50001 days of sources, but it can have at most 50000',
  );
});
