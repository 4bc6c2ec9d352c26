import { describe, expect, test } from 'vitest';
import { guessTimeFormat, parseTime } from '../../src/foreign-table/guess-time-format.ts';

const local = (text: string) => ({ kind: 'local', ms: Date.parse(`${text}Z`) });

describe('the time', () => {
  test.each([
    ['12/31/69 12:05 AM', '%m/%d/%y %I:%M %p', local('1969-12-31T00:05:00')],
    ['12/31/68 12:05 pm', '%m/%d/%y %I:%M %p', local('2068-12-31T12:05:00')],
    ['1/2/2026 1:02:03 PM', '%d/%m/%Y %I:%M:%S %p', local('2026-02-01T13:02:03')],
    ['20260102 13:02', '%Y%m%d %H:%M', local('2026-01-02T13:02:00')],
    ['1.5', 'seconds', { kind: 'instant', ms: 1_500 }],
    ['1500', 'milliseconds', { kind: 'instant', ms: 1_500 }],
    ['1500400', 'microseconds', { kind: 'instant', ms: 1_500 }],
    ['1500400000', 'nanoseconds', { kind: 'instant', ms: 1_500 }],
    ['31/02/2026', '%d/%m/%Y', undefined],
    ['13:05', '%d/%m/%Y', undefined],
    ['-1', 'seconds', undefined],
  ])('%s as %s is %o', (text, format, time) => {
    expect(parseTime(text, format)).toEqual(time);
  });
});

test('one time of ISO 8601 decides, and one zone', () => {
  const texts = ['2026-01-02', '2026-01-02 13:05+01', 'x', 'x'];
  expect(guessTimeFormat(texts)).toEqual({ format: 'iso', share: 0.5, hasZone: true });
  expect(guessTimeFormat(['2026-01-02', '2026-01-02 13:05'])).toMatchObject({ share: 1, hasZone: false });
});

test('numbers since 1970 are the format if they are more than half', () => {
  const seconds = '1779015906';
  expect(guessTimeFormat([seconds, 'x'])).toBeUndefined();
  expect(guessTimeFormat([seconds, seconds, 'x'])).toMatchObject({ format: 'seconds', hasZone: true });
});

test('a format that fits equally many times is its rival', () => {
  expect(guessTimeFormat(['05/06/2026'])).toMatchObject({ format: '%d/%m/%Y', rival: '%m/%d/%Y' });
  expect(guessTimeFormat(['05/06/2026', '13/06/2026'])).toEqual({
    format: '%d/%m/%Y',
    share: 1,
    hasZone: false,
  });
  expect(guessTimeFormat(['05/06/2026 1:05 PM'])?.format).toBe('%m/%d/%Y %I:%M %p');
});

test('of two formats the one counts whose times rise, with the hours of the afternoon after noon', () => {
  expect(guessTimeFormat(['01/12/2026', '02/01/2026'])?.format).toBe('%m/%d/%Y');
  const noon = ['02/03/2026 11:59 AM', '02/03/2026 12:01 PM', '02/03/2026 1:00 PM'];
  expect(guessTimeFormat(noon)).toMatchObject({ share: 1, rival: '%d/%m/%Y %I:%M %p' });
});
