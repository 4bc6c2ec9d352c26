import fc from 'fast-check';
import { expect, test } from 'vitest';
import { jsonErrorPosition } from '../../../src/stream/ingest/json-position.ts';

test.each([
  ['', 0],
  ['[', 1],
  ['[1,]', 3],
  ['[1 2]', 3],
  ['[1]]', 3],
  ['{"a":1,}', 7],
  ['{a:1}', 1],
  ['{"a" 1}', 5],
  ['{"a":}', 5],
  ['[}', 1],
  ['[01]', 2],
  ['[1.]', 2],
  ['[+1]', 1],
  ['[nul]', 1],
  ['"a\nb"', 2],
  ['"a\\x"', 3],
  ['"\\u12g4"', 5],
  ['"open', 5],
  ['  [1] x', 6],
  ['[1]', 3],
])('%j stops being JSON at %i', (text, position) => {
  expect(jsonErrorPosition(text)).toBe(position);
});

test('what comes before the position can be continued to JSON, and what is JSON has no error', () => {
  fc.assert(
    fc.property(
      fc.json(),
      fc.nat(),
      fc.constantFrom('', 'x', ',', ']', '}', '"', ':', '1', '\u0001', '\\'),
      (text, seed, insert) => {
        const at = seed % (text.length + 1);
        const broken = text.slice(0, at) + insert + text.slice(at + (seed % 2));
        const position = jsonErrorPosition(broken);
        if (isJson(broken)) expect(position).toBe(broken.length);
        else {
          expect(position).toBeGreaterThanOrEqual(Math.min(at, broken.length) - 6);
          // A prefix can fail only for breaking off, which the scanner places at its very end.
          expect(jsonErrorPosition(broken.slice(0, position))).toBe(position);
        }
      },
    ),
    { numRuns: 2_000 },
  );
});

test('a very long or deep body is scanned without running out of stack', () => {
  expect(jsonErrorPosition('['.repeat(1_000_000))).toBe(1_000_000);
  expect(jsonErrorPosition(`["${'x'.repeat(2_000_000)}" 1]`)).toBe(2_000_004);
});

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
