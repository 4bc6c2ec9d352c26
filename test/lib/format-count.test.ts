import { expect, test } from 'vitest';
import { formatCountOf } from '../../src/lib/format-count.ts';

test('a count has its noun in the singular for one, and separators between thousands', () => {
  expect([0, 1, 2, 12_345].map((count) => formatCountOf(count, 'row'))).toEqual([
    '0 rows',
    '1 row',
    '2 rows',
    '12,345 rows',
  ]);
  expect([1, 2].map((count) => formatCountOf(count, 'file is', 'files are'))).toEqual([
    '1 file is',
    '2 files are',
  ]);
});
