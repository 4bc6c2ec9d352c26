import { expect, test } from 'vitest';
import { instantAt, offsetAt } from '../../src/decode/message-columns.ts';

/** A column of 64-bit numbers, as the decoder writes it: two words a number, the lower one first. */
const wordsOf = (...values: bigint[]) => new Uint32Array(BigInt64Array.from(values).buffer);

test('an instant and an offset are read from the two words of their row', () => {
  const instants = [Date.UTC(2026, 10, 23), 0, -1, Date.UTC(9999, 11, 31), 2 ** 32, 2 ** 53, -(2 ** 53)];
  const words = wordsOf(...instants.map(BigInt));
  expect(instants.map((_, row) => instantAt(words, row))).toEqual(instants);

  const offsets = [0n, 1n, 2n ** 32n, 1_800_000_000_000n << 20n, 2n ** 63n - 1n];
  const offset = wordsOf(...offsets);
  expect(offsets.map((_, row) => offsetAt({ offset }, row))).toEqual(offsets);
});
