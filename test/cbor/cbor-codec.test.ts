import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeCbor, encodeCbor, MalformedError } from '../../src/cbor/cbor-codec.ts';
import { cborBytes, skipItem } from '../../src/cbor/check-cbor.ts';
import { limits } from '../../src/contract/wire-limits.ts';
import { TerminalError } from '../../src/lib/errors.ts';
import { expectSame } from '../decode/column-messages.ts';
import {
  floats,
  type Item,
  integers,
  itemBytes,
  lengthWidth,
  referenceDecode,
  simples,
  texts,
} from './cbor-items.ts';
import { appendixA, appendixF } from './rfc8949.ts';

const fromHex = (hex: string) => new Uint8Array(Buffer.from(hex, 'hex'));
const toHex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex');

function malformed(bytes: Uint8Array, options?: Parameters<typeof decodeCbor>[1]): MalformedError {
  try {
    decodeCbor(bytes, options);
  } catch (error) {
    if (error instanceof MalformedError) return error;
    throw error;
  }
  throw new Error(`${toHex(bytes)} was accepted`);
}

describe('decodeCbor', () => {
  it.each(appendixA)(
    'reads example %s of RFC 8949 as it says, or refuses what is no plain data',
    (hex, expected) => {
      if ('refused' in expected) expect(malformed(fromHex(hex)).message).toContain(expected.refused);
      else expect(decodeCbor(fromHex(hex))).toStrictEqual(expected.value);
    },
  );

  for (const [problem, examples] of Object.entries(appendixF)) {
    it(`refuses bytes where ${problem}`, () => {
      for (const hex of examples) expect(malformed(fromHex(hex)), hex).toBeInstanceOf(TerminalError);
    });
  }

  it('skips no item that is not well-formed, by structure alone', () => {
    for (const hex of Object.values(appendixF).flat()) {
      expect(() => skipItem(cborBytes(fromHex(hex)), 0), hex).toThrow(MalformedError);
    }
    for (const [hex] of appendixA) expect(skipItem(cborBytes(fromHex(hex)), 0), hex).toBe(hex.length / 2);
  });

  it('distinguishes two keys if the bytes of one look like the characters of the other', () => {
    // The characters of "Ã¼" are the bytes of "ü". All of these pairs are like this.
    for (let code = 0x80; code < 0x800; code++) {
      const key = String.fromCharCode(code);
      const likeness = Buffer.from(key).toString('latin1');
      const maps = [{ [likeness]: 1 }, { [key]: 2 }, { [likeness]: 3 }];
      expect(decodeCbor(encodeCbor(maps))).toStrictEqual(maps);
    }
  });

  it('agrees with cbor-x on everything that both accept', { tags: ['slow'] }, () => {
    const { item } = fc.letrec<{ item: Item }>((tie) => ({
      item: fc.oneof(
        { depthSize: 'small', withCrossShrink: true },
        fc.oneof(integers, floats, texts, simples),
        fc.record({
          is: fc.constant('array' as const),
          items: fc.array(tie('item'), { maxLength: 6 }),
          width: fc.oneof(lengthWidth, fc.constant('indefinite' as const)),
        }),
        fc.record({
          is: fc.constant('map' as const),
          members: fc.uniqueArray(fc.tuple(texts, tie('item')), {
            maxLength: 6,
            selector: ([key]) => (key.is === 'text' ? key.value : ''),
          }),
          width: fc.oneof(lengthWidth, fc.constant('indefinite' as const)),
        }),
      ),
    }));
    fc.assert(
      fc.property(item, (tree) => {
        // cbor-x renames this one key.
        fc.pre(
          !JSON.stringify(tree, (_, value) => (typeof value === 'bigint' ? String(value) : value)).includes(
            '__proto__',
          ),
        );
        const bytes = itemBytes(tree);
        expectSame(decodeCbor(bytes), referenceDecode(bytes));
      }),
      { numRuns: 1_000 },
    );
  });

  it('reads everything that encodeCbor writes', () => {
    const plain = fc.letrec((tie) => ({
      value: fc.oneof(
        { depthSize: 'small' },
        fc.double(),
        fc.maxSafeInteger(),
        fc.bigInt({ min: 2n ** 53n, max: 2n ** 64n - 1n }),
        fc.bigInt({ min: -(2n ** 64n), max: -(2n ** 53n) }),
        fc.string({ unit: 'grapheme' }),
        fc.constantFrom(true, false, null),
        fc.uint8Array(),
        fc.array(tie('value'), { maxLength: 5 }),
        fc.dictionary(fc.string(), tie('value'), { maxKeys: 5, noNullPrototype: true }),
      ),
    })).value;
    fc.assert(
      fc.property(plain, (value) => {
        expectSame(decodeCbor(encodeCbor(value)), value);
      }),
    );
  });

  it('returns integers beyond 2^53 as bigints and smaller ones as numbers, for any width', () => {
    expect(decodeCbor(fromHex('1b001fffffffffffff'))).toBe(2 ** 53 - 1);
    expect(decodeCbor(fromHex('1b0020000000000000'))).toBe(2n ** 53n);
    expect(decodeCbor(fromHex('3b001ffffffffffffe'))).toBe(-(2 ** 53) + 1);
    expect(decodeCbor(fromHex('3b001fffffffffffff'))).toBe(-(2n ** 53n));
    expect(decodeCbor(fromHex('1b0000000000000005'))).toBe(5);
  });

  it('reads lengths in any width', () => {
    expect(decodeCbor(fromHex('9b00000000000000017b00000000000000026162'))).toStrictEqual(['ab']);
    expect(decodeCbor(fromHex('bb00000000000000017801615801ff'))).toStrictEqual({
      a: new Uint8Array([255]),
    });
  });

  it('keeps __proto__ an ordinary member', () => {
    const decoded = decodeCbor(
      encodeCbor(JSON.parse('{"__proto__":{"admin":true},"constructor":1}')),
    ) as object;
    expect(Object.getPrototypeOf(decoded)).toBe(Object.prototype);
    expect(Object.entries(decoded)).toStrictEqual([
      ['__proto__', { admin: true }],
      ['constructor', 1],
    ]);
    expect('admin' in decoded).toBe(false);
    expect(Object.hasOwn(Object.prototype, 'admin')).toBe(false);
  });

  it('refuses a repeated key, long or short, and names its position', () => {
    expect(malformed(fromHex('a2616101616102')).position).toBe(4);
    const long = Buffer.concat([Buffer.from('7832', 'hex'), Buffer.alloc(50, 'k'), Buffer.from([1])]);
    expect(malformed(Buffer.concat([Buffer.from([0xa2]), long, long])).position).toBe(54);
    expect(malformed(fromHex('a26a5f5f70726f746f5f5f31016a5f5f70726f746f5f5f3102')).message).toContain(
      'twice',
    );
    expect(malformed(fromHex('a2695f5f70726f746f5f5f01695f5f70726f746f5f5f02')).message).toContain('twice');
  });

  it('refuses text that is not UTF-8, also in a key', () => {
    for (const hex of ['61ff', '62c328', '63eda080', 'a161ff01', '7f61c361bcff', '64f8808080']) {
      expect(malformed(fromHex(hex)).message, hex).toContain('UTF-8');
    }
  });

  it('refuses bytes after the item, and names their position', () => {
    expect(malformed(fromHex('0000')).position).toBe(1);
    expect(malformed(fromHex('')).position).toBe(0);
  });

  it(`follows ${limits.depthMax} levels and no more`, () => {
    const nested = (levels: number) => Buffer.concat([Buffer.alloc(levels - 1, 0x81), Buffer.from([0x80])]);
    expect(() => decodeCbor(nested(limits.depthMax))).not.toThrow();
    expect(malformed(nested(limits.depthMax + 1)).message).toContain('levels deep');
    expect(malformed(Buffer.alloc(1_000_000, 0x9f)).message).toContain('levels deep');
    expect(malformed(Buffer.alloc(1_000_000, 0xc1), { plainTags: true }).message).toContain('levels deep');
  });

  it('refuses lengths that exceed the bytes before it reads what follows, and uses no memory for them', () => {
    const bombs = [
      '9affffffff',
      '9bffffffffffffffff',
      'baffffffff',
      'bb00ffffffffffffff',
      '5affffffff',
      '7bffffffffffffffff',
    ];
    const before = process.memoryUsage.rss();
    for (const hex of bombs) {
      const bytes = Buffer.concat([fromHex(hex), Buffer.alloc(10)]);
      // A reader that reads the items first would report a later position.
      expect(malformed(bytes).position).toBe(0);
    }
    expect(process.memoryUsage.rss() - before).toBeLessThan(50 * 1024 * 1024);
  });

  it('refuses bytes with too many arrays, maps and byte strings', () => {
    for (const small of [0x80, 0xa0, 0x40]) {
      const bytes = Buffer.alloc(limits.decodedContainersMax + 10, small);
      expect(malformed(Buffer.concat([Buffer.from([0x9f]), bytes, Buffer.from([0xff])])).message).toContain(
        'more than',
      );
    }
    const empty = (count: number) => Buffer.from(`9f${'80'.repeat(count)}ff`, 'hex');
    expect(decodeCbor(empty(limits.decodedContainersMax - 1))).toHaveLength(limits.decodedContainersMax - 1);
    expect(malformed(empty(limits.decodedContainersMax)).message).toContain('more than');
  });

  it(`reads a map of ${limits.mapMembersMax} members and no larger one`, () => {
    const map = (members: number) =>
      encodeCbor(Object.fromEntries(Array.from({ length: members }, (_, index) => [`m${index}`, index])));
    expect(Object.keys(decodeCbor(map(limits.mapMembersMax)) as object)).toHaveLength(limits.mapMembersMax);
    expect(malformed(map(limits.mapMembersMax + 1)).message).toContain('members in a map');
  });

  it('reads the tags that have a plain value if they are allowed, and no others', () => {
    const read = (hex: string) => decodeCbor(fromHex(hex), { plainTags: true });
    expect(read('c074323031332d30332d32315432303a30343a30305a')).toBe('2013-03-21T20:04:00Z');
    expect(read('c11a514b67b0')).toBe('2013-03-21T20:04:00.000Z');
    expect(read('c1fb41d452d9ec200000')).toBe('2013-03-21T20:04:00.500Z');
    // 1.001 s are a little less than 1,001 ms in binary.
    expect(read('c1fb3ff004189374bc6a')).toBe('1970-01-01T00:00:01.001Z');
    expect(read('c2480100000000000000')).toBe(2n ** 56n);
    expect(read('c24105')).toBe(5);
    expect(read('c3480100000000000000')).toBe(-1n - 2n ** 56n);
    expect(read('d825500f8fad5bd9cb469fa16570867728950e')).toBe('0f8fad5b-d9cb-469f-a165-70867728950e');
    expect(read('d9d9f783010203')).toStrictEqual([1, 2, 3]);
    for (const hex of [
      'c249010000000000000000',
      'c001',
      'c16161',
      'c1f97e00',
      'd8254101',
      'd74401020304',
      'd90102a0',
      'd9010d80',
    ]) {
      expect(malformed(fromHex(hex), { plainTags: true }).message, hex).toContain('tag');
    }
  });
});

describe('encodeCbor', () => {
  it.each([
    [0, '00'],
    [-1, '20'],
    [1_000_000_000_000, '1b000000e8d4a51000'],
    [2 ** 32, '1b0000000100000000'],
    [-(2 ** 32) - 1, '3b0000000100000000'],
    [2n ** 64n - 1n, '1bffffffffffffffff'],
    [-(2n ** 64n), '3bffffffffffffffff'],
    [5n, '05'],
    [1.5, 'fa3fc00000'],
    [1.1, 'fb3ff199999999999a'],
    [2 ** 53, 'fa5a000000'],
    [-0, 'fa80000000'],
    [Number.NaN, 'f97e00'],
    [new Uint8Array([1, 2]), '420102'],
    [Buffer.from([1, 2]), '420102'],
    ['ü', '62c3bc'],
    ['x'.repeat(24), `7818${'78'.repeat(24)}`],
    [{ b: 1, a: undefined, c: [null, true] }, 'a2616201616382f6f5'],
  ])('writes %o as plain RFC 8949', (value, hex) => {
    expect(toHex(encodeCbor(value))).toBe(hex);
  });

  it('writes data of any size', () => {
    const data = Array.from({ length: 2_000 }, (_, index) => ({ index, text: 'x'.repeat(index % 70) }));
    expect(decodeCbor(encodeCbor(data))).toEqual(data);
    for (const character of ['a', 'é', '€', '😀'])
      for (const length of [63, 64, 255, 256, 1_000, 70_000]) {
        const text = character.repeat(length);
        expect(decodeCbor(encodeCbor(text)) === text, `${length} times ${character}`).toBe(true);
      }
  });

  it('refuses what is not plain data', () => {
    for (const value of [new Date(), new Map(), () => 1, Symbol('s'), 2n ** 64n, -(2n ** 64n) - 1n]) {
      expect(() => encodeCbor(value)).toThrow(
        /only plain data can be encoded as CBOR|an integer of more than 64 bits/,
      );
    }
    let nested: unknown = [];
    for (let level = 0; level < limits.depthMax; level++) nested = [nested];
    expect(() => encodeCbor(nested)).toThrow(TypeError);
  });

  it('writes a lone surrogate as U+FFFD, so that the bytes stay UTF-8', () => {
    expect(decodeCbor(encodeCbor('a\ud800'))).toBe('a\ufffd');
  });
});
