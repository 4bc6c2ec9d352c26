import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseTopicPattern, type TopicPattern } from '../../src/config/topic-pattern.ts';

function patternOf(text: string): TopicPattern {
  const parsed = parseTopicPattern(text);
  if ('problem' in parsed) throw new Error(parsed.problem);
  return parsed;
}

/** The same as a regular expression. */
function expressionOf(pattern: string): RegExp {
  const levels = pattern.split('/').map((level, index) => {
    const slash = index === 0 ? '' : '/';
    if (level === '#') return `(?:${slash}.*)?`;
    if (level === '+') return `${slash}[^/]*`;
    const parts = level.split(/\{(\w+)\}/);
    const expressions = parts.map((part, at) => (at % 2 === 0 ? RegExp.escape(part) : `(?<${part}>[^/]+)`));
    return slash + expressions.join('');
  });
  return new RegExp(`^${levels.join('')}$`, 's');
}

describe('a pattern of topics', () => {
  test('fits the same topics as the regular expression, with the same texts', () => {
    const level = fc
      .array(fc.constantFrom('a', 'b', 'ab', '_', '.', '{}'), { maxLength: 6 })
      .filter((parts) => !parts.some((part, index) => part === '{}' && parts[index + 1] === '{}'));
    const pattern = fc
      .tuple(fc.array(fc.oneof(level, fc.constant(['+'])), { minLength: 1, maxLength: 3 }), fc.boolean())
      .map(([levels, isOpen]) => {
        let count = 0;
        const text = levels.map((parts) =>
          parts.map((part) => (part === '{}' ? `{n${count++}}` : part)).join(''),
        );
        return [...text, ...(isOpen ? ['#'] : [])].join('/');
      })
      .filter((text) => text !== '');
    const letters = fc.array(fc.constantFrom('a', 'b', '_', '.', '/'), { maxLength: 3 });
    /** A pattern, and a topic that has some letters for each name. */
    const both = pattern.chain((text) =>
      fc.array(letters, { minLength: 20, maxLength: 20 }).map((fill) => ({
        text,
        given: text.replace(/\{n(\d+)\}|[+#]/g, (_, at = 19) => fill[at]!.join('')),
      })),
    );
    fc.assert(
      fc.property(both, ({ text, given }) => {
        const found = expressionOf(text).exec(given);
        expect(patternOf(text).match(given)).toEqual(found === null ? undefined : { ...found.groups });
      }),
      { numRuns: 5_000 },
    );
  });

  test('with several names in a level judges a very long topic at once', () => {
    // A regular expression needs hours for this topic.
    const topic = `meters/${'_'.repeat(65_000)}`;
    expect(patternOf('meters/{site}_{device}_{phase}-power').match(topic)).toBeUndefined();
    expect(patternOf('meters/{site}_{device}').match(topic)).toMatchObject({ device: '_' });
  });
});

test.each([
  ['', 'must be 1 to 1,000 characters'],
  ['x'.repeat(1_001), 'must be 1 to 1,000 characters'],
  ['a\0b', 'must not contain a NUL character'],
  ['$share/group/a', 'must be a topic without $share'],
  ['a/#/b', '"#" can only be the whole last level, such as "site/#"'],
  ['a+/b', '"+" can only be a whole level, such as "site/+/power"'],
  ['{a b}/c', 'a named level is written {name}, with letters and digits'],
  ['{a}{b}', 'there must be some text between two names of a level'],
  ['{a}/{a}', '{a} is there twice'],
])('the topic %j is refused: %s', (topic, problem) => {
  expect(parseTopicPattern(topic)).toEqual({ problem });
});
