import { expect, test } from 'vitest';
import { isObject } from '../../src/lib/is-object.ts';

test('an object is neither null nor a list', () => {
  expect([{}, { a: 1 }].every(isObject)).toBe(true);
  expect([null, undefined, [], 'a', 1, true].some(isObject)).toBe(false);
});
