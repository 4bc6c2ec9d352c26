import { expect, test } from 'vitest';
import { walLimit } from '../../src/warehouse/database.ts';

test('the write-ahead log may take a quarter of the memory, at most 256 MiB', () => {
  expect([1, 400, 1_024, 1_028].map(walLimit)).toEqual(['1MiB', '100MiB', '256MiB', '256MiB']);
});
