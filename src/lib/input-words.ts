import { distance } from 'fastest-levenshtein';
import type { z } from 'zod';

type Issue = z.core.$ZodRawIssue;

const kinds: Readonly<Record<string, string>> = {
  string: 'text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'settings by name',
  record: 'settings by name',
};

/**
 * Error messages for `safeParse` in plain words. They replace the messages of zod where a schema has no
 * message. They never contain the input, because it may be secret.
 */
export const inWords = { error: (issue: Issue): string | undefined => describe(issue) };

function describe(issue: Issue): string | undefined {
  if (issue.input === undefined && issue.code !== 'custom') return 'is missing';
  if (issue.input === null && issue.code !== 'custom') return 'is empty: remove it, or give it a value';
  switch (issue.code) {
    case 'invalid_type': {
      const expected = kinds[issue.expected] ?? `of the kind ${issue.expected}`;
      const isPlain = typeof issue.input === 'number' || typeof issue.input === 'boolean';
      return issue.expected === 'string' && isPlain
        ? 'must be text: put it in quotes'
        : `must be ${expected}, not ${kindOf(issue.input)}`;
    }
    case 'invalid_value':
      return `must be one of ${issue.values.map(String).join(', ')}`;
    case 'too_small':
      if (issue.origin === 'string') return 'must not be empty';
      if (issue.origin === 'array') return `must have at least ${String(issue.minimum)}`;
      return issue.inclusive
        ? `must be at least ${String(issue.minimum)}`
        : `must be more than ${String(issue.minimum)}`;
    case 'too_big':
      if (issue.origin === 'string') return `must have at most ${String(issue.maximum)} characters`;
      if (issue.origin === 'array') return `must have at most ${String(issue.maximum)}`;
      return issue.inclusive
        ? `must be at most ${String(issue.maximum)}`
        : `must be less than ${String(issue.maximum)}`;
    case 'unrecognized_keys':
      // One line for each key.
      return issue.keys.map((key) => describeUnknown(nearest(key, knownKeys(issue.inst)))).join('\n');
    default:
      return undefined;
  }
}

/** The message for an unknown key. */
export function describeUnknown(meant: string | undefined): string {
  return `is not a known setting${meant === undefined ? '' : `; is it ${meant}?`}`;
}

function kindOf(value: unknown): string {
  return kinds[Array.isArray(value) ? 'array' : typeof value] ?? typeof value;
}

function knownKeys(schema: unknown): string[] {
  const { shape } = schema as Partial<z.ZodObject>;
  return shape ? Object.keys(shape) : [];
}

/** The intended name: other capitals, or one or two different letters. */
export function nearest(written: string, names: readonly string[]): string | undefined {
  const [best] = names
    .map((name) => ({ name, steps: distance(written.toLowerCase(), name.toLowerCase()) }))
    .filter(({ name, steps }) => steps <= Math.min(2, Math.floor(name.length / 3)))
    .sort((one, other) => one.steps - other.steps);
  return best?.name;
}
