import { expect, test } from 'vitest';
import { bearerToken } from '../../src/access/bearer-token.ts';

test.each([
  ['Bearer abc', 'abc'],
  ['bearer   abc  ', 'abc'],
  ['Bearerabc', undefined],
  ['Bearer', undefined],
  ['Bearer abc def', undefined],
  ['Basic abc', undefined],
  [undefined, undefined],
])('the bearer token of %j is %j', (authorization, token) => {
  expect(bearerToken(authorization)).toBe(token);
});
