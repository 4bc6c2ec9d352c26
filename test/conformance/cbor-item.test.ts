import { expect, test } from 'vitest';
import { itemMember, itemsOf, plain, readItem } from '../../src/conformance/cbor-item.ts';

const read = (hex: string) => readItem(Uint8Array.from(Buffer.from(hex.replaceAll(' ', ''), 'hex')));

// The examples of RFC 8949, appendix A, and their values.
test.each<[hex: string, value: unknown]>([
  ['00', 0],
  ['1b 001fffffffffffff', Number.MAX_SAFE_INTEGER],
  ['1b 0020000000000000', 2n ** 53n],
  ['20', -1],
  ['3b 001ffffffffffffe', Number.MIN_SAFE_INTEGER],
  ['3b 001fffffffffffff', -(2n ** 53n)],
  ['f9 3e00', 1.5],
  ['fa 47c35000', 100_000],
  ['fb 3ff199999999999a', 1.1],
  ['f4', false],
  ['f5', true],
  ['f6', null],
  ['f7', undefined],
  ['f8 ff', 255],
  ['c1 1a 514b67b0', 1_363_896_240],
  ['44 01020304', Uint8Array.of(1, 2, 3, 4)],
  ['64 49455446', 'IETF'],
  ['83 01 02 03', [1, 2, 3]],
  ['a2 6161 01 6162 82 02 03', { a: 1, b: [2, 3] }],
  ['5f 42 0102 43 030405 ff', Uint8Array.of(1, 2, 3, 4, 5)],
  ['7f 65 73747265 61 64 6d696e67 ff', 'streaming'],
  ['9f ff', []],
  ['9f 01 82 02 03 9f 04 05 ff ff', [1, [2, 3], [4, 5]]],
  ['bf 6161 01 6162 9f 02 03 ff ff', { a: 1, b: [2, 3] }],
])('%s is read', (hex, value) => {
  expect(plain(read(hex))).toEqual(value);
});

test('the encoding of a length stays with the item', () => {
  const lengths = ['5f ff', '7f ff', '9f ff', 'bf ff', '40', '60', '80', 'a0'].map((hex) => read(hex));
  expect(lengths.map((item) => 'indefinite' in item && item.indefinite)).toEqual([
    ...[true, true, true, true],
    ...[false, false, false, false],
  ]);
});

test.each([
  ['', 'the bytes end at 0, within an item'],
  ['82 01', 'the bytes end at 2, within an item'],
  ['9f 01', 'the bytes end at 2, within an item'],
  ['43 0102', 'the bytes end at 3, within an item'],
  ['01 02', '1 bytes after the end of the item'],
  ['1c', 'a length that is reserved at byte 0'],
  ['82 01 ff', 'a break outside of an indefinite length at byte 2'],
  ['1f', 'an integer or a tag without a length at byte 0'],
  ['81 df', 'an integer or a tag without a length at byte 1'],
  ['5f 6161 ff', 'a string of indefinite length has a part of another type at byte 1'],
  ['5f 5f ff ff', 'a string of indefinite length has a part of another type at byte 1'],
  ['61 ff', 'text at byte 0 is not UTF-8'],
  ['81 f8 1f', 'a simple value of two bytes that fits in one at byte 1'],
  [`${'81'.repeat(65)}00`, 'nested more than 64 levels deep at byte 65'],
])('%s is refused with its byte', (hex, problem) => {
  expect(() => read(hex)).toThrow(problem);
});

test('64 levels are read', () => {
  expect(() => read(`${'81'.repeat(64)}00`)).not.toThrow();
});

test('members and items of other types are absent', () => {
  const map = read('a2 6161 81 01 01 02');
  expect(plain(itemMember(map, 'a')!)).toEqual([1]);
  expect(itemMember(map, '1')).toBeUndefined();
  expect(itemMember(read('80'), 'a')).toBeUndefined();
  expect(itemsOf(itemMember(map, 'a'))).toHaveLength(1);
  expect(itemsOf(map)).toEqual([]);
});
