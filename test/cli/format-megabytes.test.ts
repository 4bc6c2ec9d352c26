import { expect, test } from 'vitest';
import { formatMegabytes } from '../../src/cli/backup/format-megabytes.ts';

test('a megabyte is a million bytes, and is shown with one digit', () => {
  expect([0, 49_999, 1_000_000, 1_234_500_000].map(formatMegabytes)).toEqual([
    '0.0',
    '0.0',
    '1.0',
    '1,234.5',
  ]);
});
