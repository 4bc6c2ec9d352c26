import { escapeExpression } from '../lib/escape-expression.ts';

/** The topics of a rule. */
export interface TopicPattern {
  /** The topic filter that a broker understands. */
  filter: string;
  /** The names of the named levels. */
  names: readonly string[];
  /** The texts of the named levels by name. Undefined if the topic does not fit. */
  match(topic: string): Readonly<Record<string, string>> | undefined;
}

const NAME = /\{([A-Za-z][A-Za-z0-9_]*)\}/g;

/**
 * Reads a pattern such as `shellies/{device}/emeter/+/power`. `{name}` is a level or a part of one, `+` is any level, and `#` at the end is any
 * number of levels.
 * @returns the problem of a text that is no pattern
 */
export function parseTopicPattern(text: string): TopicPattern | { problem: string } {
  const problem = problemOf(text);
  if (problem !== undefined) return { problem };
  const levels = text.split('/');
  const names = [...text.matchAll(NAME)].map(([, name]) => name!);
  const expression = new RegExp(
    `^${levels
      .map((level, index) => {
        const slash = index === 0 ? '' : '/';
        // In MQTT `a/#` matches `a`, too.
        if (level === '#') return `(?:${slash}.*)?`;
        return slash + (level === '+' ? '[^/]*' : partsOf(level));
      })
      .join('')}$`,
    's',
  );
  return {
    filter: levels.map((level) => (level.includes('{') ? '+' : level)).join('/'),
    names,
    match(topic) {
      const found = expression.exec(topic);
      return found === null ? undefined : (found.groups ?? {});
    },
  };
}

function problemOf(text: string): string | undefined {
  if (text === '' || text.length > 1_000 || text.includes('\0')) return 'must be 1 to 1,000 characters';
  if (text.startsWith('$share/')) return 'must be a topic without $share';
  const levels = text.split('/');
  if (levels.some((level, index) => level.includes('#') && (level !== '#' || index < levels.length - 1)))
    return '"#" can only be the whole last level, such as "site/#"';
  if (levels.some((level) => level.includes('+') && level !== '+'))
    return '"+" can only be a whole level, such as "site/+/power"';
  if (/[{}]/.test(text.replace(NAME, ''))) return 'a named level is written {name}, with letters and digits';
  if (/\}\{/.test(text)) return 'there must be some text between two names of a level';
  const names = [...text.matchAll(NAME)].map(([, name]) => name);
  const twice = names.find((name, index) => names.indexOf(name) < index);
  return twice === undefined ? undefined : `{${twice}} is there twice`;
}

/** The expression of a level with names, such as `shellyem-{id}`. */
function partsOf(level: string): string {
  return level
    .split(NAME)
    .map((part, index) => (index % 2 === 0 ? escapeExpression(part) : `(?<${part}>[^/]+)`))
    .join('');
}
