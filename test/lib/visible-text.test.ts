import fc from 'fast-check';
import { expect, test } from 'vitest';
import { visibleData, visibleLine, visibleLines, visibleText } from '../../src/lib/visible-text.ts';

test('characters that are not seen are written out, and all others stay', () => {
  expect(visibleText('Dach \u001b[31mrot\u0007 \u009b0m \u202egro\u2066 \n\t\ud800.')).toBe(
    'Dach \\u001b[31mrot\\u0007 \\u009b0m \\u202egro\\u2066 \\u000a\\u0009\\ud800.',
  );
  const plain = 'Dach Süd · 東京 🔆 100 % "quoted" \\ slash';
  expect(visibleText(plain)).toBe(plain);
  expect(visibleLine(' a\n\tb\u0007 ')).toBe('a b\\u0007');
  expect(visibleLines('a\n\u001bb\n')).toBe('a\n\\u001bb\n');
});

test('any name is printed as one line without control characters, and JSON with it parses to the same value', {
  tags: ['slow'],
}, () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (name) => {
      // biome-ignore lint/suspicious/noControlCharactersInRegex: the test looks for them
      expect(visibleText(name)).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u2028-\u202e]/);
      expect(JSON.parse(visibleText(JSON.stringify({ name })))).toEqual({ name });
    }),
    { numRuns: 300 },
  );
});

test('data are copied with every text and name in them, and values that are no text stay as they are', () => {
  const at = new Date(0);
  expect(visibleData([{ 'a\n': ['\u001b'], count: 1n, none: null, at }])).toEqual([
    { 'a\\u000a': ['\\u001b'], count: 1n, none: null, at },
  ]);
});
