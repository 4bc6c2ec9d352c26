import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  cborMajor,
  floatAt,
  headArgument,
  headBigint,
  headLength,
  INDEFINITE,
} from '../../src/cbor/cbor-head.ts';
import { putHead } from '../../src/cbor/cbor-writer.ts';
import { createScan, scanUint } from '../../src/decode/scan-bytes.ts';

const viewOf = (bytes: Uint8Array) => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
const nineBytes = fc.uint8Array({ minLength: 9, maxLength: 9 });
const RUNS = { numRuns: 20_000 };

/**
 * The head as RFC 8949 describes it: the argument is in the five low bits, or in the 1, 2, 4 or 8 bytes that
 * follow.
 */
function specifiedHead(bytes: Uint8Array): { length: number; argument: bigint | undefined } {
  const info = bytes[0]! % 32;
  if (info < 24) return { length: 1, argument: BigInt(info) };
  if (info === 31) return { length: 1, argument: undefined };
  if (info > 27) return { length: 0, argument: undefined };
  const following = [...bytes.subarray(1, 1 + 2 ** (info - 24))];
  const argument = following.reduce((sum, byte) => sum * 256n + BigInt(byte), 0n);
  return { length: 1 + following.length, argument };
}

describe('the head of an item', () => {
  it('has the length and the argument that RFC 8949 describes', { tags: ['slow'] }, () => {
    fc.assert(
      fc.property(nineBytes, (bytes) => {
        const { length, argument } = specifiedHead(bytes);
        expect(headLength(bytes[0]!)).toBe(length);
        if (length === 0) return;
        const view = viewOf(bytes);
        expect(headArgument(view, 0)).toBe(argument === undefined ? INDEFINITE : Number(argument));
        if (argument === undefined) return;
        expect(headBigint(view, 0)).toBe(argument);
      }),
      RUNS,
    );
  });

  it('is written in the shortest form, and read as it was written', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...Object.values(cborMajor)),
        fc.oneof(fc.maxSafeNat(), fc.nat(70_000), fc.nat(300)),
        (major, argument) => {
          const bytes = new Uint8Array(9);
          const length = putHead(bytes, 0, major, argument);
          expect(specifiedHead(bytes)).toEqual({ length, argument: BigInt(argument) });
          const shortest = [24, 2 ** 8, 2 ** 16, 2 ** 32].findIndex((limit) => argument < limit);
          expect(length).toBe([1, 2, 3, 5].at(shortest === -1 ? 4 : shortest) ?? 9);
        },
      ),
      RUNS,
    );
  });

  it('is read by the fast path like by all other readers', () => {
    const scan = createScan();
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 1, maxLength: 9 }), (bytes) => {
        scan.bytes = bytes;
        scan.view = viewOf(bytes);
        const end = headLength(bytes[0]!);
        const isWhole = bytes[0]! <= 0x1b && end <= bytes.length;
        expect(scanUint(scan, 0)).toBe(isWhole ? end : -1);
        if (!isWhole) return;
        const [low, high] = scan.words;
        expect((BigInt(high!) << 32n) | BigInt(low!)).toBe(headBigint(scan.view, 0));
      }),
      RUNS,
    );
  });
});

it('a float of any width has the value that DataView reads', () => {
  fc.assert(
    fc.property(fc.constantFrom(0xf9, 0xfa, 0xfb), nineBytes, (initial, bytes) => {
      bytes[0] = initial;
      const view = viewOf(bytes);
      const expected =
        initial === 0xfb
          ? view.getFloat64(1)
          : initial === 0xfa
            ? view.getFloat32(1)
            : (view as unknown as { getFloat16(at: number): number }).getFloat16(1);
      expect(floatAt(view, 0)).toBe(expected);
    }),
    RUNS,
  );
});
