import { expect, test } from 'vitest';
import { createTimeReader } from '../../src/inputs/payload-time.ts';
import { readMessagePayload } from '../../src/inputs/payload-value.ts';

type Format = Parameters<typeof createTimeReader>[0]['format'];

function timeOf(json: string, format: Format, zone?: string) {
  return createTimeReader({ from: '/t', format, zone })(readMessagePayload(Buffer.from(`{"t":${json}}`))!);
}

const NOON_MS = Date.UTC(2026, 10, 20, 12);
const Y2000_MS = Date.UTC(2000, 0);

test.each<[json: string, format: Format, ms: number]>([
  [`${NOON_MS / 1_000}`, 'seconds', NOON_MS],
  [`"${NOON_MS / 1_000}.25"`, 'seconds', NOON_MS + 250],
  [`${NOON_MS / 1_000}.0004`, 'seconds', NOON_MS],
  [`${NOON_MS}600001`, 'nanoseconds', NOON_MS + 1],
  [`"${NOON_MS}600001"`, 'nanoseconds', NOON_MS + 1],
  [`${Y2000_MS}`, 'milliseconds', Y2000_MS],
  ['"2000-01-01T00:00:00Z"', 'iso', Y2000_MS],
  ['"1999-12-31T23:00:00-01:00"', 'iso', Y2000_MS],
])('%s in %s is a time', (json, format, ms) => {
  expect(timeOf(json, format)).toEqual({ kind: 'time', ms });
});

const notSet = 'is before 2000; the clock of the device is not set';

test.each<[json: string, format: Format, message: string]>([
  [`${Y2000_MS - 1}`, 'milliseconds', notSet],
  ['0', 'seconds', notSet],
  ['"1999-12-31T23:59:59Z"', 'iso', notSet],
  ['"1970-01-01T00:00:12"', 'iso', notSet],
  ['"2026-11-20T12:00:00"', 'iso', 'set zone'],
  [`${NOON_MS}`, 'iso', 'and must be a time such as'],
  ['-1', 'seconds', 'the time at /t is "-1", and must be seconds since 1970'],
  ['""', 'seconds', 'and must be seconds since 1970'],
  ['"0x10"', 'seconds', 'and must be seconds since 1970'],
  ['"12 "', 'seconds', 'and must be seconds since 1970'],
  ['true', 'milliseconds', 'and must be milliseconds since 1970'],
  ['null', 'seconds', 'and must be seconds since 1970'],
])('%s in %s is no time', (json, format, message) => {
  expect(timeOf(json, format)).toEqual({ kind: 'problem', message: expect.stringContaining(message) });
});

test.each<[pointer: string, value: unknown]>([
  ['/a', 1],
  ['/b/0', 2],
  ['/c~1d', 3],
  ['/e~0f', 4],
  ['/~01', 5],
  ['/', 6],
  ['/b/1', undefined],
  ['/a/b', undefined],
  ['/toString', undefined],
  ['/b/length', 1],
  ['payload', { a: 1, b: [2], 'c/d': 3, 'e~f': 4, '~1': 5, '': 6 }],
])('the member of a payload at %s', (pointer, value) => {
  const payload = readMessagePayload(Buffer.from('{"a":1,"b":[2],"c/d":3,"e~f":4,"~1":5,"":6}'))!;
  expect(payload.at(pointer)).toEqual(value);
});
