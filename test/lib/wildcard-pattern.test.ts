import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { wildcardPattern } from '../../src/lib/wildcard-pattern.ts';

/** The same as a regular expression. */
function expressionOf(pattern: string): RegExp {
  const parts = pattern.split(/([*?])/);
  const expressions = parts.map((part) => (part === '*' ? '.*' : part === '?' ? '.' : RegExp.escape(part)));
  return new RegExp(`^${expressions.join('')}$`, 's');
}

describe('a pattern with * and ?', () => {
  test('fits the same texts as the regular expression', () => {
    const letters = (of: string) =>
      fc.array(fc.constantFrom(...of), { maxLength: 9 }).map((all) => all.join(''));
    fc.assert(
      fc.property(letters('ab*?.'), letters('ab*.\n'), (pattern, text) => {
        expect(wildcardPattern(pattern).test(text)).toBe(expressionOf(pattern).test(text));
      }),
      { numRuns: 2_000 },
    );
  });

  test('with several * judges a very long text at once', () => {
    // A regular expression needs minutes for this text.
    const text = 'a'.repeat(1_000_000);
    expect(wildcardPattern('*a*b*').test(text)).toBe(false);
    expect(wildcardPattern('*a*b*').test(`${text}b`)).toBe(true);
    expect(wildcardPattern('*a*a*a*b*c').test(text)).toBe(false);
  });
});
