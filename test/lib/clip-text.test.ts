import { expect, test } from 'vitest';
import { clipText, shortenText } from '../../src/lib/clip-text.ts';

test('a shortened text has at most as many characters as it may, with its ellipsis, and no half of a character', () => {
  expect(['abcd', 'abcde', 'ab😀cd'].map((text) => shortenText(text, 4))).toEqual([
    'abcd',
    'abc…',
    'ab\ufffd…',
  ]);
});

test('a text in a message has at most 60 characters, and none that a terminal obeys', () => {
  expect(clipText('x'.repeat(60))).toBe('x'.repeat(60));
  expect(clipText('x'.repeat(61))).toBe(`${'x'.repeat(59)}…`);
  expect(clipText('a\u001b[31m\nb')).toBe('a\ufffd[31m\ufffdb');
});
