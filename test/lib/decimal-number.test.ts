import { expect, test } from 'vitest';
import { isDecimalNumber } from '../../src/lib/decimal-number.ts';

test.each(['0', '-0', '+12', '1.', '.5', '-1.5e3', '1.e-3', '12E+400', '007'])('%s is a number', (text) => {
  expect(isDecimalNumber(text)).toBe(true);
});

test.each(['', '.', '-', 'e5', '1e', '1.5.', '1,5', '0x10', ' 1', '1\n', '12i', 'NaN'])(
  '"%s" is no number',
  (text) => expect(isDecimalNumber(text)).toBe(false),
);

test('a text of very many digits is judged at once', () => {
  const digits = '1'.repeat(1024 * 1024);
  expect(isDecimalNumber(`${digits}x`)).toBe(false);
  expect(isDecimalNumber(`${digits}.${digits}`)).toBe(true);
});
