import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { nextOffset, OFFSET_MAX, offsetMs, offsetOf, parseOffset } from '../../src/contract/offset.ts';

const instant = fc.nat(4_000_000_000_000);

describe('nextOffset', () => {
  it('always grows, even if the clock steps back', () => {
    fc.assert(
      fc.property(fc.array(instant, { minLength: 2, maxLength: 100 }), (clock) => {
        let last: bigint | undefined;
        for (const nowMs of clock) {
          const next = nextOffset(last, nowMs);
          if (last !== undefined) expect(next > last).toBe(true);
          expect(offsetMs(next)).toBeGreaterThanOrEqual(nowMs);
          last = next;
        }
      }),
    );
  });

  it('is the first offset of a millisecond when the clock has moved on', () => {
    expect(nextOffset(offsetOf(999) + 5n, 1_000)).toBe(offsetOf(1_000));
    expect(nextOffset(undefined, 1_000)).toBe(offsetOf(1_000));
  });

  it('counts up within a millisecond, and when the clock steps back', () => {
    expect(nextOffset(offsetOf(1_000), 1_000)).toBe(offsetOf(1_000) + 1n);
    expect(nextOffset(offsetOf(1_000), 1)).toBe(offsetOf(1_000) + 1n);
  });

  it('continues a full sequence in the next millisecond', () => {
    const last = offsetOf(1_001) - 1n;
    expect(offsetMs(last)).toBe(1_000);
    expect(nextOffset(last, 1_000)).toBe(offsetOf(1_001));
  });
});

describe('offsets', () => {
  it('have the order of store times and contain them', () => {
    fc.assert(
      fc.property(instant, instant, fc.bigInt({ min: 0n, max: 2n ** 20n - 1n }), (a, b, sequence) => {
        expect(offsetMs(offsetOf(a) + sequence)).toBe(a);
        if (a < b) expect(offsetOf(a) + sequence < offsetOf(b)).toBe(true);
      }),
    );
  });
});

describe('parseOffset', () => {
  it('reads every offset as it is written', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: OFFSET_MAX }), (offset) => {
        expect(parseOffset(String(offset))).toBe(offset);
      }),
    );
  });

  it.each([
    '',
    ' ',
    '+1',
    '-1',
    '1,2',
    '1 ',
    ' 1',
    '0x10',
    '1n',
    '1.0',
    '1e3',
    '١',
    '18446744073709551616',
    '9'.repeat(21),
  ])('refuses %j', (text) => {
    expect(parseOffset(text)).toBeUndefined();
  });
});
