import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { FieldValue } from '../../src/contract/messages.ts';
import { type Precision, parseLine } from '../../src/inputs/parse-line.ts';

function pointOf(line: string, precision: Precision = 'ns') {
  const parsed = parseLine(line, precision);
  if (parsed.kind !== 'point') throw new Error(JSON.stringify(parsed));
  const { measurement, tags, fields, timeMs } = parsed;
  return { measurement, tags: Object.fromEntries(tags), fields: Object.fromEntries(fields), timeMs };
}

test('a line has a measurement, tags, fields of all types and a time', () => {
  expect(
    pointOf(
      'power,host=garage,phase=L1 a=1,b=-1.5e3,c=12i,d=18446744073709551615u,e=t,f=FALSE,g="x, y=\\"z\\" \\\\" 1795000000123456789',
    ),
  ).toEqual({
    measurement: 'power',
    tags: { host: 'garage', phase: 'L1' },
    fields: { a: 1, b: -1500, c: 12, d: 2n ** 64n - 1n, e: true, f: false, g: 'x, y="z" \\' },
    timeMs: 1_795_000_000_123,
  });
});

test.each<[text: string, value: FieldValue]>([
  ['9223372036854775807i', 2n ** 63n - 1n],
  ['-9223372036854775808i', -(2n ** 63n)],
  ['9007199254740991i', 9_007_199_254_740_991],
  ['9007199254740992i', 2n ** 53n],
  ['-0i', 0],
  ['0u', 0],
  ...['t', 'T', 'true', 'True', 'TRUE'].map((text): [string, FieldValue] => [text, true]),
  ...['f', 'F', 'false', 'False', 'FALSE'].map((text): [string, FieldValue] => [text, false]),
])('the value %s is read, whatever follows it', (text, value) => {
  for (const end of ['', ' 1', '\t1', ',w=1'])
    expect(pointOf(`p v=${text}${end}`, 'ms').fields.v).toBe(value);
});

test('the time may follow tabs as well as spaces', () => {
  const point = { fields: { a: 1, b: 'x' }, timeMs: 1 };
  expect(pointOf('p a=1,b="x"\t1', 'ms')).toMatchObject(point);
  expect(pointOf('p b="x",a=1\t \t1', 'ms')).toMatchObject(point);
});

test('escapes belong to names, and any other backslash is itself', () => {
  expect(pointOf('my\\ power\\,x,ta\\=g=a\\ b\\,c fie\\ ld=1,back\\slash=2')).toMatchObject({
    measurement: 'my power,x',
    tags: { 'ta=g': 'a b,c' },
    fields: { 'fie ld': 1, 'back\\slash': 2 },
    timeMs: undefined,
  });
  expect(pointOf('p,path=C:\\temp v="C:\\temp"')).toMatchObject({
    tags: { path: 'C:\\temp' },
    fields: { v: 'C:\\temp' },
  });
});

test.each([
  ['ns', '1795000000123456789', 1_795_000_000_123],
  ['n', '999999', 0],
  ['us', '1795000000123456', 1_795_000_000_123],
  ['u', '1795000000123456', 1_795_000_000_123],
  ['ms', '1795000000123', 1_795_000_000_123],
  ['s', '1795000000', 1_795_000_000_000],
  ['m', '29916666', 1_794_999_960_000],
  ['h', '498611', 1_794_999_600_000],
] as const)('a time in %s is milliseconds', (precision, text, ms) => {
  expect(pointOf(`p v=1 ${text}`, precision).timeMs).toBe(ms);
});

test.each(['', '   ', '# a comment', '\t'])('"%s" is no point and no fault', (line) => {
  expect(parseLine(line, 'ns')).toEqual({ kind: 'blank' });
});

describe('a line is refused with its reason:', () => {
  test.each([
    [',a=b v=1', 'missing measurement'],
    ['p', 'missing fields'],
    ['p,a=b', 'missing fields'],
    ['p,a v=1', 'missing value of tag "a"'],
    ['p,a= v=1', 'missing value of tag "a"'],
    ['p,a=1,a=2 v=1', 'duplicate tag "a"'],
    ['p v', 'missing value of field "v"'],
    ['p v=', 'missing value of field "v"'],
    ['p v=1,', 'missing field key'],
    ['p v=1,v=2', 'duplicate field "v"'],
    ['p v=abc', 'invalid value "abc" of field "v"'],
    ['p v=NaN', 'invalid value "NaN" of field "v"'],
    ['p v=1e999', 'invalid value "1e999" of field "v"'],
    ['p v=9223372036854775808i', 'invalid value "9223372036854775808i" of field "v"'],
    ['p v=-9223372036854775809i', 'invalid value "-9223372036854775809i" of field "v"'],
    ['p v=18446744073709551616u', 'invalid value "18446744073709551616u" of field "v"'],
    ['p v=100000000000000000000i', 'invalid value "100000000000000000000i" of field "v"'],
    ['p v=1.5i', 'invalid value "1.5i" of field "v"'],
    ['p v=tRUE', 'invalid value "tRUE" of field "v"'],
    ['p v=-1u', 'invalid value "-1u" of field "v"'],
    ['p v="abc', 'unbalanced quotes in field "v"'],
    ['p v="abc"d', 'unexpected text after field "v"'],
    ['p v=1 abc', 'invalid time "abc"'],
    ['p v=1 1.5', 'invalid time "1.5"'],
    ['p v=1 -1000000', 'the time "-1000000" is not within 1970 to 9999'],
  ])('%s', (line, message) => {
    expect(parseLine(line, 'ns')).toEqual({ kind: 'problem', message });
  });

  test('a time after the year 9999', () => {
    expect(parseLine('p v=1 253402300799', 's')).toMatchObject({ timeMs: 253_402_300_799_000 });
    expect(parseLine('p v=1 253402300799999', 'ms')).toMatchObject({ timeMs: 253_402_300_799_999 });
    expect(parseLine('p v=1 253402300800', 's')).toEqual({
      kind: 'problem',
      message: 'the time "253402300800" is not within 1970 to 9999',
    });
  });
});

const name = fc
  .string({ unit: 'grapheme', minLength: 1, maxLength: 12 })
  // A backslash before one of these characters would be an escape of it, and at the end one of what follows.
  .filter((text) => !/[\n\r\t"]|\\[,= \\]|\\$|^#|^ | $/.test(text) && text.isWellFormed());
const value: fc.Arbitrary<FieldValue> = fc.oneof(
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((number) => number + 0),
  fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
  fc.boolean(),
  fc.string({ unit: 'grapheme' }).filter((text) => !/[\n\r]/.test(text)),
);

/** Writes a name as a client library of InfluxDB does. */
function escapeName(text: string): string {
  return text.replace(/[,= ]/g, '\\$&');
}

function valueText(one: FieldValue): string {
  if (typeof one === 'bigint') return `${one}i`;
  if (typeof one === 'string') return `"${one.replace(/["\\]/g, '\\$&')}"`;
  return String(one);
}

function plain(one: FieldValue): FieldValue {
  return typeof one === 'bigint' && Number.isSafeInteger(Number(one)) ? Number(one) : one;
}

test('what is written is read, whatever the names and values', () => {
  fc.assert(
    fc.property(
      name,
      fc.dictionary(name, name, { maxKeys: 4, noNullPrototype: true }),
      fc.dictionary(name, value, { minKeys: 1, maxKeys: 5, noNullPrototype: true }),
      fc.integer({ min: 0, max: 253_402_300_799_999 }),
      (measurement, tags, fields, timeMs) => {
        const tagText = Object.entries(tags).map(([key, text]) => `,${escapeName(key)}=${escapeName(text)}`);
        const fieldText = Object.entries(fields).map(([key, one]) => `${escapeName(key)}=${valueText(one)}`);
        const line = `${escapeName(measurement)}${tagText.join('')} ${fieldText.join(',')} ${timeMs}`;
        expect(pointOf(line, 'ms')).toEqual({
          measurement,
          tags,
          fields: Object.fromEntries(Object.entries(fields).map(([key, one]) => [key, plain(one)])),
          timeMs,
        });
      },
    ),
    { numRuns: 500 },
  );
});

test('no text breaks the reader', () => {
  fc.assert(
    fc.property(
      fc.string({ unit: fc.constantFrom(...'ab,= "\\i1.5-#t\n'.split('')), maxLength: 40 }),
      (line) => {
        expect(['point', 'blank', 'problem']).toContain(parseLine(line, 'ns').kind);
      },
    ),
    { numRuns: 2_000 },
  );
});
