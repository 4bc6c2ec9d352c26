import { describe, expect, test } from 'vitest';
import { NONE } from '../../src/decode/member-keys.ts';
import { createScan, scanInstant, scanUint } from '../../src/decode/scan-bytes.ts';

/** A scan of these bytes. They lie in the middle of a buffer, as a message does. */
function scanOf(item: readonly number[]) {
  const buffer = Uint8Array.from([0xff, ...item, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00]).buffer;
  const scan = createScan();
  scan.bytes = new Uint8Array(buffer, 1, item.length);
  scan.view = new DataView(buffer, 1);
  return scan;
}

const integerIn = ({ words }: { words: Uint32Array }) => (BigInt(words[1]!) << 32n) + BigInt(words[0]!);

describe.each<[bits: string, item: number[], value: bigint]>([
  ['none', [0x17], 23n],
  ['8', [0x18, 0xfe], 0xfen],
  ['16', [0x19, 0xfe, 0xdc], 0xfedcn],
  ['32', [0x1a, 0xfe, 0xdc, 0xba, 0x98], 0xfedcba98n],
  ['64', [0x1b, 0xfe, 0xdc, 0xba, 0x98, 0x76, 0x54, 0x32, 0x10], 0xfedcba9876543210n],
])('an integer with an argument of %s bits', (_, item, value) => {
  test('is read with all of its bits, and words of a longer one before it are cleared', () => {
    const scan = scanOf(item);
    scan.words.fill(0xffff_ffff);
    expect(scanUint(scan, 0)).toBe(item.length);
    expect(integerIn(scan)).toBe(value);
  });

  test('is not read past the end', () => {
    for (let length = 0; length < item.length; length++)
      expect([length, scanUint(scanOf(item.slice(0, length)), 0)]).toEqual([length, NONE]);
  });
});

test('an instant is an integer, or a float without a fraction, of the years 1970 to 9999', () => {
  const float = (value: number) => {
    const item = new DataView(new ArrayBuffer(9));
    item.setUint8(0, 0xfb);
    item.setFloat64(1, value);
    return [...new Uint8Array(item.buffer)];
  };
  const last = 253_402_300_799_999;
  const read = (item: readonly number[]) => {
    const scan = scanOf(item);
    return scanInstant(scan, 0) === item.length ? Number(integerIn(scan)) : undefined;
  };
  expect([0, 1.6e12, last].map((ms) => read(float(ms)))).toEqual([0, 1.6e12, last]);
  expect([-1, 0.5, last + 1, Number.NaN, Number.POSITIVE_INFINITY].map((ms) => read(float(ms)))).toEqual(
    new Array(5).fill(undefined),
  );
  expect(read(float(5).slice(0, 8))).toBeUndefined();
  expect(read([0x1b, 0x00, 0x00, 0xe6, 0x77, 0xd2, 0x1f, 0xdb, 0xff])).toBe(last);
  expect(read([0x1b, 0x00, 0x00, 0xe6, 0x77, 0xd2, 0x1f, 0xdc, 0x00])).toBeUndefined();
});
