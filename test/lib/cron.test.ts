import { CronExpressionParser } from 'cron-parser';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type CronPattern, cronInstants, nextCronInstant, parseCron } from '../../src/lib/cron.ts';
import { DAY_MS, formatInstant, HOUR_MS } from '../../src/lib/time.ts';

const pattern = (text: string): CronPattern => {
  const parsed = parseCron(text);
  if (typeof parsed === 'string') throw new Error(parsed);
  return parsed;
};
const between = (text: string, zone: string, from: string, to: string, max = 100) =>
  cronInstants(pattern(text), zone, { afterMs: Date.parse(from), untilMs: Date.parse(to), max }).map((ms) =>
    formatInstant(ms).slice(0, 16),
  );

describe('a cron pattern', () => {
  test('means the times of a clock in its zone', () => {
    expect(between('0 6 * * *', 'Europe/Berlin', '2026-11-19T05:00Z', '2026-11-21T05:00Z')).toEqual([
      '2026-11-20T05:00',
      '2026-11-21T05:00',
    ]);
    expect(between('30 18 * * mon-fri', 'Asia/Kolkata', '2026-11-20T00:00Z', '2026-11-24T00:00Z')).toEqual([
      '2026-11-20T13:00',
      '2026-11-23T13:00',
    ]);
    expect(between('0 0 1,15 * 7', 'Etc/UTC', '2026-11-10T00:00Z', '2026-11-23T00:00Z')).toEqual([
      '2026-11-15T00:00',
      '2026-11-22T00:00',
    ]);
  });

  test('runs an hour later if the clock skips its time, and once if the clock repeats it', () => {
    expect(between('30 2 * * *', 'Europe/Berlin', '2026-03-28T12:00Z', '2026-03-30T12:00Z')).toEqual([
      '2026-03-29T01:30',
      '2026-03-30T00:30',
    ]);
    expect(between('30 2 * * *', 'Europe/Berlin', '2026-10-24T12:00Z', '2026-10-26T12:00Z')).toEqual([
      '2026-10-25T00:30',
      '2026-10-26T01:30',
    ]);
    // 02:00 and 03:00 are the same instant on the day when the clock goes from 02:00 to 03:00.
    expect(between('0 2,3 * * *', 'Europe/Berlin', '2026-03-28T12:00Z', '2026-03-29T12:00Z')).toEqual([
      '2026-03-29T01:00',
    ]);
  });

  test("runs also on a day without midnight because the clock skips it; BullMQ's own parser loses that run", () => {
    const [from, to] = ['2026-04-22T12:00Z', '2026-04-24T21:30Z'];
    const runs = ['2026-04-22T22:00', '2026-04-23T22:00', '2026-04-24T21:00'];
    expect(between('0 0 * * *', 'Africa/Cairo', from, to)).toEqual(runs);
    const other = CronExpressionParser.parse('0 0 * * *', { tz: 'Africa/Cairo', currentDate: from });
    const theirs = other.take(2).map((date) => date.toDate().toISOString().slice(0, 16));
    // Once it keeps that run, src/lib/cron.ts can go.
    expect(theirs).toEqual(['2026-04-22T22:00', '2026-04-24T21:00']);
  });

  test('has the instants that BullMQ computes', { tags: ['slow'] }, () => {
    const number = (min: number, max: number) => fc.integer({ min, max });
    const field = (min: number, max: number) =>
      fc.oneof(
        fc.constant('*'),
        number(min, max).map(String),
        number(1, 9).map((step) => `*/${step}`),
        fc.tuple(number(min, max), number(1, 9)).map(([from, step]) => `${from}/${step}`),
        fc
          .tuple(number(min, max), number(min, max), number(1, 3))
          .map(([a, b, step]) => `${Math.min(a, b)}-${Math.max(a, b)}/${step}`),
        fc.array(number(min, max), { minLength: 2, maxLength: 4 }).map((values) => values.join(',')),
      );
    fc.assert(
      fc.property(
        fc.tuple(field(0, 59), field(0, 23), field(1, 28), field(1, 12), field(0, 7)),
        fc.integer({ min: Date.UTC(2000, 0), max: Date.UTC(2040, 0) }),
        (fields, afterMs) => {
          const text = fields.join(' ');
          const other = CronExpressionParser.parse(pattern(text).plain, {
            tz: 'Etc/UTC',
            currentDate: afterMs,
          });
          const theirs = other.take(3).map((date) => date.getTime());
          let atMs = afterMs;
          for (const expected of theirs) {
            atMs = nextCronInstant(pattern(text), 'Etc/UTC', atMs)!;
            expect(atMs, text).toBe(expected);
          }
        },
      ),
      { numRuns: 60 },
    );
  });

  test.each([
    ['5/20 */6 31/1 * *', '5,25,45 0,6,12,18 31 * *'],
    ['59/9 1-10/3 1,15,1 * *', '59 1,4,7,10 1,15 * *'],
    ['0 0 * jan-mar,DEC mon-fri', '0 0 * 1,2,3,12 1,2,3,4,5'],
    ['0 0 * */5 5-7', '0 0 * 1,6,11 0,5,6'],
    [
      '0-0 0 */1 12/12 7',
      '0 0 1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31 12 0',
    ],
  ])('%s is %s in plain numbers', (text, plain) => {
    expect(pattern(text).plain).toBe(plain);
  });

  test('its next instant can be eight years away, and some never come', () => {
    const next = (text: string) => nextCronInstant(pattern(text), 'Etc/UTC', Date.UTC(2096, 2, 1));
    expect(next('0 0 29 2 *')).toBe(Date.UTC(2104, 1, 29));
    expect(next('0 0 29 feb mon')).toBe(Date.UTC(2097, 1, 4));
  });

  test('returns the newest instants if there are more than the limit', () => {
    expect(between('0 * * * *', 'Etc/UTC', '2020-01-01T00:00Z', '2026-11-20T05:30Z', 2)).toEqual([
      '2026-11-20T04:00',
      '2026-11-20T05:00',
    ]);
  });

  test('its next instant is the first of those that follow, in any zone and year', { tags: ['slow'] }, () => {
    const number = (min: number, max: number) => fc.integer({ min, max }).map(String);
    const field = (min: number, max: number) =>
      fc.oneof(
        fc.constant('*'),
        number(min, max),
        fc.tuple(number(min, max), number(1, 9)).map((ab) => ab.join('/')),
      );
    fc.assert(
      fc.property(
        fc.tuple(field(0, 59), field(0, 23), fc.constantFrom('*', '1', '*/3'), fc.constant('*'), field(0, 7)),
        fc.constantFrom('Etc/UTC', 'Europe/Berlin', 'Australia/Lord_Howe', 'America/St_Johns'),
        fc.integer({ min: Date.UTC(2000, 0), max: Date.UTC(2040, 0) }),
        (fields, zone, afterMs) => {
          const parsed = pattern(fields.join(' '));
          const next = nextCronInstant(parsed, zone, afterMs)!;
          const untilMs = Math.min(next + HOUR_MS, afterMs + 40 * DAY_MS);
          const found = cronInstants(parsed, zone, { afterMs, untilMs, max: 1_000_000 });
          expect(found[0]).toBe(next <= untilMs ? next : undefined);
          expect(found).toEqual(
            cronInstants(pattern(parsed.plain), zone, { afterMs, untilMs, max: 1_000_000 }),
          );
        },
      ),
      { numRuns: 60 },
    );
  });

  test('that is invalid is refused with the reason', () => {
    for (const [text, said] of [
      ['0 6 * *', 'five fields'],
      ['60 6 * * *', '"60" is not valid as minute'],
      ['0 6 0 * *', '"0" is not valid as day of month'],
      ['0 6 * foo *', '"foo" is not valid as month'],
      ['0 9-6 * * *', '"9-6" is not valid as hour'],
      ['*/0 6 * * *', '"*/0" is not valid as minute'],
      ['*-5 6 * * *', '"*-5" is not valid as minute'],
      ['1,,2 6 * * *', '"1,,2" is not valid as minute'],
      ['0 6 * * 6-8', '"6-8" is not valid as day of week'],
      ['0 6 L * *', '"l" is not valid as day of month'],
      ['0 6 * mon *', '"mon" is not valid as month'],
      ['0 0 31 2 *', 'never comes'],
      ['0 0 31 2,4 1', 'never comes'],
    ] as const)
      expect(parseCron(text)).toContain(said);
    expect(nextCronInstant(pattern('0 0 29 2 *'), 'Etc/UTC', 0)).toBe(Date.UTC(1972, 1, 29));
  });
});
