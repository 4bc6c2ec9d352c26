import { expect, test } from 'vitest';
import { etagOf, matchesEtag } from '../../src/http/etag.ts';

test('an ETag differs if its facts do', () => {
  expect(etagOf({ generation: 1 })).toBe(etagOf({ generation: 1 }));
  expect(etagOf({ generation: 1 })).not.toBe(etagOf({ generation: 2 }));
});

test.each([
  ['W/"a"', true],
  ['"a"', true],
  ['"b", W/"a"', true],
  ['*', true],
  ['"b"', false],
  ['a', false],
  [undefined, false],
])('If-None-Match: %s of the answer W/"a" matches: %s', (header, matches) => {
  expect(matchesEtag(header, 'W/"a"')).toBe(matches);
});
