import fc from 'fast-check';
import { Temporal } from 'temporal-polyfill';
import { describe, expect, test } from 'vitest';
import { createLocalClock, findOrderedRepeats } from '../../src/foreign-table/local-clock.ts';
import { HOUR_MS, MINUTE_MS } from '../../src/lib/time.ts';

const utc = (text: string) => Date.parse(`${text}Z`);
const zones = [
  'Europe/Berlin',
  'America/New_York',
  'Australia/Lord_Howe',
  'Asia/Kathmandu',
  'Africa/Casablanca',
  'Etc/UTC',
];

/** What the clocks of a zone show at an instant, as if it were UTC. */
function shown(ms: number, zone: string): number {
  const { year, month, day, hour, minute, second } =
    Temporal.Instant.fromEpochMilliseconds(ms).toZonedDateTimeISO(zone);
  return Date.UTC(year, month - 1, day, hour, minute, second);
}

describe('local times of Berlin', () => {
  const clock = () => createLocalClock('Europe/Berlin');

  test('are instants of their offset, whichever comes first', () => {
    const berlin = clock();
    expect(berlin.toUtc(utc('2024-07-01T12:00'), 'a')).toBe(utc('2024-07-01T10:00'));
    expect(berlin.toUtc(utc('2024-01-01T12:00'), 'a')).toBe(utc('2024-01-01T11:00'));
    expect(berlin.toUtc(utc('1999-07-01T12:00'), 'a')).toBe(utc('1999-07-01T10:00'));
    expect(berlin.toUtc(utc('2024-10-27T01:59'), 'a')).toBe(utc('2024-10-26T23:59'));
    expect(berlin.toUtc(utc('2024-10-27T03:00'), 'a')).toBe(utc('2024-10-27T02:00'));
  });

  test('that the clock skips in spring are invalid', () => {
    expect(clock().toUtc(utc('2024-03-31T01:59:59'), 'a')).toBe(utc('2024-03-31T00:59:59'));
    expect(clock().toUtc(utc('2024-03-31T02:00'), 'a')).toBeUndefined();
    expect(clock().toUtc(utc('2024-03-31T02:59:59'), 'a')).toBeUndefined();
    expect(clock().toUtc(utc('2024-03-31T03:00'), 'a')).toBe(utc('2024-03-31T01:00'));
  });

  test('that the clock repeats in autumn are distinguished by their order, for each series', () => {
    const berlin = clock();
    const at = (time: string, series = 'a') => berlin.toUtc(utc(`2024-10-27T${time}`), series);
    expect([at('02:00'), at('02:30'), at('02:00'), at('02:30'), at('03:00')]).toEqual(
      ['00:00', '00:30', '01:00', '01:30', '02:00'].map((time) => utc(`2024-10-27T${time}`)),
    );
    // Readings of an hour each.
    expect([at('02:00', 'b'), at('02:00', 'b')]).toEqual(
      ['00:00', '01:00'].map((time) => utc(`2024-10-27T${time}`)),
    );
    // A year later it begins anew.
    expect(berlin.toUtc(utc('2025-10-26T02:30'), 'a')).toBe(utc('2025-10-26T00:30'));
  });
});

test('an offset is a zone without changes', () => {
  expect(createLocalClock('+01:00').toUtc(utc('2024-07-01T12:00'), 'a')).toBe(utc('2024-07-01T11:00'));
  expect(createLocalClock('-03:30').toUtc(utc('2024-07-01T12:00'), 'a')).toBe(utc('2024-07-01T15:30'));
});

test.each(zones)(
  'a log in %s with a row at least every half hour gives the instants that it was made of',
  (zone) => {
    const steps = fc.array(fc.integer({ min: 1, max: 30 }), { minLength: 1, maxLength: 200 });
    // Around the changes of many years, which is where it can go wrong.
    const start = fc.integer({ min: utc('1985-01-01'), max: utc('2035-01-01') });
    const change = start.map((ms) => {
      const next = Temporal.Instant.fromEpochMilliseconds(ms)
        .toZonedDateTimeISO(zone)
        .getTimeZoneTransition('next');
      return Math.floor(((next?.epochMilliseconds ?? ms) - 2 * HOUR_MS) / MINUTE_MS) * MINUTE_MS;
    });
    fc.assert(
      fc.property(change, steps, (from, minutes) => {
        const clock = createLocalClock(zone);
        let ms = from;
        for (const step of minutes) {
          expect(clock.toUtc(shown(ms, zone), 'a')).toBe(ms);
          ms += step * MINUTE_MS;
        }
      }),
      { numRuns: 60 },
    );
  },
);

describe('the order of a series tells a repeated hour apart', () => {
  const clock = createLocalClock('Europe/Berlin');
  const repeats = (...times: string[]) =>
    findOrderedRepeats(
      times.map((time) => utc(`2026-10-25T${time}`)),
      clock,
    ).size;

  test.each<[string, string[], number]>([
    ['where it shows both hours', ['01:30', '02:00', '02:30', '02:00', '02:30', '03:00'], 1],
    ['and show an hour that comes twice as one time', ['02:00', '02:00'], 1],
    ['not where it shows one of them', ['01:30', '02:00', '02:30', '03:00'], 0],
    ['not where it goes back in time', ['03:00', '02:30', '02:00', '02:30', '02:00', '01:30'], 0],
    ['not where it falls twice in the hour', ['02:30', '02:00', '02:30', '02:00'], 0],
    ['not where a row of another hour is out of order', ['05:00', '04:00', '02:00', '02:00'], 0],
  ])('%s', (_, times, count) => {
    expect(repeats(...times)).toBe(count);
  });
});
