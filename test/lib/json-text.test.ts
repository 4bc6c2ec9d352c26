import { expect, test } from 'vitest';
import { jsonDepth, jsonText, measureJson, parseJsonExact } from '../../src/lib/json-text.ts';

test.each<[unknown, string]>([
  [2n ** 64n, '18446744073709551616'],
  [{ a: [1.5, true, null, undefined] }, '{"a":[1.5,true,null,null]}'],
  [Number.NaN, '"NaN"'],
  [-Infinity, '"-Infinity"'],
  [new Uint8Array([1, 255]), '"Af8="'],
  [{ 'k\ud800"': 'v\udc00' }, '{"k\ufffd\\"":"v\ufffd"}'],
])('%o is %s in JSON', (value, text) => {
  expect(jsonText(value)).toBe(text);
});

test('an integer beyond 2^53 keeps its digits, and other numbers are numbers', () => {
  expect(
    parseJsonExact('[9007199254740991, 9007199254740992, -9007199254740993, 9007199254740993.0, 1e20]'),
  ).toEqual([Number.MAX_SAFE_INTEGER, 9007199254740992n, -9007199254740993n, 9007199254740992, 1e20]);
  expect(parseJsonExact('{"a": 12, "b": "9007199254740993"}')).toEqual({ a: 12, b: '9007199254740993' });
});

test('of a very long integer the first 64 characters are read', () => {
  expect(parseJsonExact('1'.repeat(100))).toBe(BigInt('1'.repeat(64)));
});

test('the size of JSON counts what is outside of its texts', () => {
  const text = '{"a,[": [1, {"b": [2, 3, 4]}], "c\\"{": "\\\\", "d": []}';
  expect(measureJson(text)).toEqual({ depth: 4, containers: 5, outermost: 3, widest: 3, members: 4 });
  expect(measureJson('[[1,2,3,4],[5]]')).toMatchObject({ outermost: 2, widest: 4 });
  expect(['1', '[]', '[[],[[]]]'].map(jsonDepth)).toEqual([0, 1, 3]);
});
