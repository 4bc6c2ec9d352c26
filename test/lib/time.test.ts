import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  addDays,
  dayBounds,
  dayStart,
  daysBetween,
  daysFrom,
  firstDayOfMonth,
  formatInstant,
  formatLocal,
  formatMinute,
  formatMoment,
  HOUR_MS,
  INTERVAL_MS,
  isLocalDate,
  isTimeZone,
  lastDayOfMonth,
  localDateOf,
  parseInstant,
  zoneOffsets,
} from '../../src/lib/time.ts';
import { rounds } from '../support/rounds.ts';

const hours = (day: string, zone: string) => {
  const [bounds] = dayBounds(day, day, zone);
  return (bounds!.endMs - bounds!.startMs) / HOUR_MS;
};

describe('local days', () => {
  test.each([
    // An ordinary day, and zones that are not whole hours from UTC.
    ['Etc/UTC', '2026-11-20', '2026-11-20T00:00:00.000Z', 24],
    ['Europe/Paris', '2026-11-20', '2026-11-19T23:00:00.000Z', 24],
    ['Asia/Kathmandu', '2026-11-20', '2026-11-19T18:15:00.000Z', 24],
    ['Australia/Eucla', '2026-11-20', '2026-11-19T15:15:00.000Z', 24],
    ['Pacific/Kiritimati', '2026-11-20', '2026-11-19T10:00:00.000Z', 24],
    // Clocks change during the day: by an hour, half an hour, two hours.
    ['Europe/Paris', '2026-03-29', '2026-03-28T23:00:00.000Z', 23],
    ['Europe/Paris', '2026-10-25', '2026-10-24T22:00:00.000Z', 25],
    ['America/New_York', '2026-11-01', '2026-11-01T04:00:00.000Z', 25],
    ['Australia/Lord_Howe', '2026-10-04', '2026-10-03T13:30:00.000Z', 23.5],
    ['Australia/Lord_Howe', '2026-04-05', '2026-04-04T13:00:00.000Z', 24.5],
    ['Antarctica/Troll', '2026-03-29', '2026-03-29T00:00:00.000Z', 22],
    // There is no midnight: the clock goes from 23:59 to 01:00.
    ['America/Sao_Paulo', '2018-11-04', '2018-11-04T03:00:00.000Z', 23],
    ['Asia/Beirut', '2026-03-29', '2026-03-28T22:00:00.000Z', 23],
    ['Africa/Cairo', '2026-04-24', '2026-04-23T22:00:00.000Z', 23],
    ['Asia/Tehran', '2021-03-22', '2021-03-21T20:30:00.000Z', 23],
    // There are two midnights: the first begins the day.
    ['America/Havana', '2026-11-01', '2026-11-01T04:00:00.000Z', 25],
    ['Atlantic/Azores', '2026-10-25', '2026-10-25T00:00:00.000Z', 25],
    ['America/St_Johns', '2010-11-07', '2010-11-07T02:30:00.000Z', 25],
    // The last hour of the day comes twice.
    ['Asia/Beirut', '2026-10-24', '2026-10-23T21:00:00.000Z', 25],
    ['Africa/Cairo', '2026-10-29', '2026-10-28T21:00:00.000Z', 25],
    ['America/Sao_Paulo', '2018-02-17', '2018-02-17T02:00:00.000Z', 25],
    // The whole zone moved during the day.
    ['Pacific/Kwajalein', '1969-09-30', '1969-09-29T13:00:00.000Z', 47],
    ['Africa/Juba', '2021-01-31', '2021-01-30T21:00:00.000Z', 25],
  ])('in %s the day %s begins at %s and has %d hours', (zone, day, start, length) => {
    const [bounds] = dayBounds(day, day, zone);
    expect(formatInstant(bounds!.startMs)).toBe(start);
    expect(hours(day, zone)).toBe(length);
  });

  test.each([
    ['Pacific/Apia', '2011-12-30'],
    ['Pacific/Fakaofo', '2011-12-30'],
    ['Pacific/Kiritimati', '1994-12-31'],
    ['Pacific/Kwajalein', '1993-08-21'],
  ])('in %s the day %s does not exist: it is empty, and its neighbours touch', (zone, day) => {
    const bounds = dayBounds(addDays(day, -1), addDays(day, 1), zone);
    expect(bounds.map(({ startMs, endMs }) => (endMs - startMs) / HOUR_MS)).toEqual([24, 0, 24]);
    expect(bounds[0]!.endMs).toBe(bounds[2]!.startMs);
  });

  test.each([
    ['2026-11-20', 96],
    ['2026-03-29', 92],
    ['2026-10-25', 100],
  ])('%s in Paris has %d load-profile intervals', (day, count) => {
    const [bounds] = dayBounds(day, day, 'Europe/Paris');
    expect((bounds!.endMs - bounds!.startMs) / INTERVAL_MS).toBe(count);
  });

  test('a range has no days if its last day is before the first', () => {
    expect(dayBounds('2026-01-02', '2026-01-01', 'Etc/UTC')).toEqual([]);
  });

  const zones = Intl.supportedValuesOf('timeZone');
  const anyDay = fc
    .integer({ min: daysBetween('1970-01-01', '2012-01-01'), max: daysBetween('1970-01-01', '2037-12-31') })
    .map((days) => addDays('1970-01-01', days));

  test('days of any zone begin at a load-profile interval, follow each other without a gap, and hold their own instants', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...zones),
        anyDay,
        fc.integer({ min: 0, max: 20 }),
        (zone, from, length) => {
          const days = dayBounds(from, addDays(from, length), zone);
          expect(days.map(({ day }) => day)).toEqual(days.map((_, index) => addDays(from, index)));
          for (const [index, { day, startMs, endMs }] of days.entries()) {
            expect(startMs % INTERVAL_MS).toBe(0);
            expect(startMs).toBe(index === 0 ? dayStart(day, zone) : days[index - 1]!.endMs);
            if (startMs === endMs) continue;
            expect(endMs - startMs).toBeGreaterThanOrEqual(22 * HOUR_MS);
            expect(endMs - startMs).toBeLessThanOrEqual(26 * HOUR_MS);
            expect(localDateOf(startMs, zone)).toBe(day);
            expect(localDateOf(endMs - 1, zone)).toBe(day);
            expect(localDateOf(startMs - 1, zone) < day).toBe(true);
          }
        },
      ),
      { numRuns: rounds(40, 300) },
    );
  });
});

describe('calendar dates', () => {
  test.each(['2026-02-28', '2024-02-29', '1970-01-01', '9999-12-30'])('%s is a date', (text) =>
    expect(isLocalDate(text)).toBe(true),
  );
  test.each([
    '2026-02-29',
    '2026-13-01',
    '9999-12-31',
    '0000-01-01',
    '2026-1-1',
    '26-01-01',
    '2026-01-01T00:00',
    '',
    '2026-00-10',
    '2026-04-31',
  ])('%j is not', (text) => expect(isLocalDate(text)).toBe(false));

  test('both ends of a range of days belong to it', () => {
    expect(daysFrom('2026-04-30', '2026-05-02')).toEqual(['2026-04-30', '2026-05-01', '2026-05-02']);
    expect(daysFrom('2026-05-02', '2026-05-02')).toEqual(['2026-05-02']);
    expect(daysFrom('2026-05-02', '2026-05-01')).toEqual([]);
  });

  test('adding days and counting them undo each other', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 40_000 }),
        fc.integer({ min: -20_000, max: 20_000 }),
        (start, days) => {
          const day = addDays('1970-01-01', start);
          expect(isLocalDate(day)).toBe(true);
          expect(daysBetween(day, addDays(day, days))).toBe(days);
        },
      ),
    );
  });

  test('adding days follows the calendar, also when clocks change', () => {
    expect(addDays('2026-03-28', 1)).toBe('2026-03-29');
    expect(addDays('2026-03-29', 1)).toBe('2026-03-30');
    expect(addDays('2026-12-31', 1)).toBe('2027-01-01');
  });
});

describe('time zones', () => {
  test.each(['Europe/Paris', 'Etc/UTC', 'UTC', 'America/Argentina/Ushuaia', 'Etc/GMT+5'])(
    '%s is one',
    (zone) => expect(isTimeZone(zone)).toBe(true),
  );
  test.each(['', '+01:00', '-0500', 'Paris', 'Mars/Olympus', 'Europe/Paris ', 'UTC+1'])(
    '%j is none',
    (zone) => expect(isTimeZone(zone)).toBe(false),
  );
});

describe('instants as text', () => {
  test.each([
    ['2026-11-20T13:05:00Z', '2026-11-20T13:05:00.000Z'],
    ['2026-11-20T13:05Z', '2026-11-20T13:05:00.000Z'],
    ['2026-11-20 13:05:00.123+02:00', '2026-11-20T11:05:00.123Z'],
    ['2026-11-20T13:05:00,123456789-0530', '2026-11-20T18:35:00.123Z'],
    ['2026-11-20t13:05:00z', '2026-11-20T13:05:00.000Z'],
    ['2026-11-20T00:00+14', '2026-11-19T10:00:00.000Z'],
    ['0', '1970-01-01T00:00:00.000Z'],
    ['1795182300000', '2026-11-20T13:45:00.000Z'],
  ])('%j is %s', (text, instant) => expect(formatInstant(parseInstant(text)!)).toBe(instant));

  test.each([
    '',
    ' ',
    'now',
    '-1',
    '1.5',
    '1e12',
    '2026-11-20',
    '2026-11-20T13:05:00',
    '2026-11-20T24:00:00Z',
    '2026-11-20T13:60:00Z',
    '2026-11-20T13:05:61Z',
    '2026-02-30T00:00:00Z',
    '2026-11-20T13:05:00+99:00',
    '2026-11-20T13:05:00Z[Europe/Paris]',
    '2026-11-20T13:05:00.1234567890Z',
    '1234567890123456',
    '253402300800000',
    '9999-12-31T23:59:59-00:01',
    '0000-01-01T00:00:00+00:01',
  ])('%j is none', (text) => expect(parseInstant(text)).toBeUndefined());

  test('a formatted instant is parsed to the same millisecond', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 253_402_300_799_999 }), (ms) => {
        expect(parseInstant(formatInstant(ms))).toBe(ms);
        expect(parseInstant(String(ms))).toBe(ms);
      }),
    );
  });

  test('no text is a crash', () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        const ms = parseInstant(text);
        expect(ms === undefined || Number.isInteger(ms)).toBe(true);
      }),
    );
  });
});

test.each([
  ['2026-11-30', '2026-11-01', '2026-11-30'],
  ['2026-12-01', '2026-12-01', '2026-12-31'],
  ['2027-02-14', '2027-02-01', '2027-02-28'],
  ['2028-02-14', '2028-02-01', '2028-02-29'],
  ['9999-12-30', '9999-12-01', '9999-12-31'],
])('the month of %s is from %s to %s', (day, first, last) => {
  expect([firstDayOfMonth(day), lastDayOfMonth(day)]).toEqual([first, last]);
});

describe('an instant for people', () => {
  const ms = Date.UTC(2026, 9, 25, 0, 30, 5);

  test('is in UTC, to the second or to the minute', () => {
    expect(formatMoment(ms + 999)).toBe('2026-10-25 00:30:05Z');
    expect(formatMinute(ms + 999)).toBe('2026-10-25 00:30');
  });

  test('in local time has its offset, which tells repeated hours apart', () => {
    expect(formatLocal(ms, 'Europe/Berlin')).toBe('2026-10-25 02:30:05+02:00');
    expect(formatLocal(ms + HOUR_MS, 'Europe/Berlin')).toBe('2026-10-25 02:30:05+01:00');
    expect(formatLocal(ms + 7, 'Etc/UTC')).toBe('2026-10-25 00:30:05.007+00:00');
  });
});

test('the offsets of a zone are those from the first instant up to the last, both included', () => {
  const [spring, autumn] = [Date.UTC(2026, 2, 29, 1), Date.UTC(2026, 9, 25, 1)];
  const offsets = [
    { fromMs: spring - 1, offsetMs: HOUR_MS },
    { fromMs: spring, offsetMs: 2 * HOUR_MS },
    { fromMs: autumn, offsetMs: HOUR_MS },
  ];
  expect(zoneOffsets('Europe/Berlin', spring - 1, autumn)).toEqual(offsets);
  expect(zoneOffsets('Europe/Berlin', spring - 1, autumn - 1)).toEqual(offsets.slice(0, 2));
  expect(zoneOffsets('Etc/UTC', 0, autumn)).toEqual([{ fromMs: 0, offsetMs: 0 }]);
});
