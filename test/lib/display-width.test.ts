import { expect, test } from 'vitest';
import { displayWidth, padDisplayEnd, padDisplayStart } from '../../src/lib/display-width.ts';

test.each([
  ['abc', 3],
  ['e\u0301', 1],
  ['東京', 4],
  ['\u1100\u1161\u11a8', 2],
])('%s takes %d columns', (text, width) => {
  expect(displayWidth(text)).toBe(width);
});

test('a text is filled up to the width that is seen, and a longer one is not cut', () => {
  expect([padDisplayEnd('東', 4), padDisplayStart('東', 4), padDisplayEnd('東京', 3)]).toEqual([
    '東  ',
    '  東',
    '東京',
  ]);
});
