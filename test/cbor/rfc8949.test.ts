import { describe, expect, test } from 'vitest';
import { decodeCbor, encodeCbor, MalformedError } from '../../src/cbor/cbor-codec.ts';
import { plain, readItem } from '../../src/conformance/cbor-item.ts';
import { appendixA, appendixF } from './rfc8949.ts';

const values = appendixA.flatMap(([hex, expected]) =>
  'value' in expected ? [[hex, expected.value] as const] : [],
);
const fromHex = (hex: string) => Uint8Array.from(Buffer.from(hex, 'hex'));
const toHex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex');

/** The values that we encode differently, with the reason. */
const encodedOtherwise: Readonly<Record<string, Record<string, string>>> = {
  'a number that is whole is an integer': {
    f90000: '00',
    f93c00: '01',
    f97bff: '19ffe0',
    fa47c35000: '1a000186a0',
    f9c400: '23',
  },
  'no float but NaN has 16 bits': {
    f98000: 'fa80000000',
    f93e00: 'fa3fc00000',
    f90001: 'fa33800000',
    f90400: 'fa38800000',
    f97c00: 'fa7f800000',
    f9fc00: 'faff800000',
  },
  'a float has no more bits than it needs': {
    fa7fc00000: 'f97e00',
    fb7ff8000000000000: 'f97e00',
    fb7ff0000000000000: 'fa7f800000',
    fbfff0000000000000: 'faff800000',
  },
  'lengths are definite': {
    '5f42010243030405ff': '450102030405',
    '7f657374726561646d696e67ff': '6973747265616d696e67',
    '9fff': '80',
    '9f018202039f0405ffff': '8301820203820405',
    '9f01820203820405ff': '8301820203820405',
    '83018202039f0405ff': '8301820203820405',
    '83019f0203ff820405': '8301820203820405',
    '9f0102030405060708090a0b0c0d0e0f101112131415161718181819ff':
      '98190102030405060708090a0b0c0d0e0f101112131415161718181819',
    bf61610161629f0203ffff: 'a26161016162820203',
    '826161bf61626163ff': '826161a161626163',
    bf6346756ef563416d7421ff: 'a26346756ef563416d7421',
  },
};

test('the table has the 81 examples of the RFC, each once', () => {
  expect(appendixA).toHaveLength(81);
  expect(new Set(appendixA.map(([hex]) => hex)).size).toBe(81);
});

test('every value is encoded as in the table, or in another way that this file names', () => {
  const otherwise = Object.assign({}, ...Object.values(encodedOtherwise)) as Record<string, string>;
  for (const [hex, value] of values) expect(toHex(encodeCbor(value)), hex).toBe(otherwise[hex] ?? hex);
  expect(Object.keys(otherwise).filter((hex) => values.every(([known]) => known !== hex))).toEqual([]);
});

test('every encoded value is decoded as the same value', () => {
  for (const [hex, value] of values) expect(decodeCbor(encodeCbor(value)), hex).toStrictEqual(value);
});

test.each([
  ['c074323031332d30332d32315432303a30343a30305a', '2013-03-21T20:04:00Z'],
  ['c11a514b67b0', '2013-03-21T20:04:00.000Z'],
  ['c1fb41d452d9ec200000', '2013-03-21T20:04:00.500Z'],
])('with the tags that have a plain value %s is %s', (hex, value) => {
  expect(decodeCbor(fromHex(hex), { plainTags: true })).toBe(value);
});

test('all other tags and big integers beyond 64 bits are refused', () => {
  for (const hex of ['c249010000000000000000', 'c349010000000000000000', 'd74401020304', 'd818456449455446'])
    expect(() => decodeCbor(fromHex(hex), { plainTags: true }), hex).toThrow(MalformedError);
});

describe('the reader of the conformance suite', () => {
  test('reads all examples', () => {
    for (const [hex, value] of values) expect(plain(readItem(fromHex(hex))), hex).toStrictEqual(value);
    for (const [hex, expected] of appendixA)
      if ('refused' in expected) expect(() => readItem(fromHex(hex)), hex).not.toThrow();
  });

  test('distinguishes integers and floats, and shows tags and indefinite lengths', () => {
    expect(readItem(fromHex('00'))).toEqual({ type: 'integer', value: 0n });
    expect(readItem(fromHex('f90000'))).toEqual({ type: 'float', value: 0 });
    expect(readItem(fromHex('c11a514b67b0'))).toMatchObject({ type: 'tag', tag: 1n });
    expect(readItem(fromHex('9fff'))).toEqual({ type: 'array', items: [], indefinite: true });
  });

  test('refuses bytes that are not well-formed', () => {
    for (const hex of Object.values(appendixF).flat())
      expect(() => readItem(fromHex(hex)), hex).toThrow(/ at (byte )?\d+/);
  });
});
