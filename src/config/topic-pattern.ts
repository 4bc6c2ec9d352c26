import { formatCount } from '../lib/format-count.ts';
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
 * Reads a pattern such as `shellies/{device}/emeter/+/power`. `{name}` is a level or a part of one, `+` is
 * any level, and `#` at the end is any number of levels.
 * @returns the problem of a text that is not a pattern
 */
export function parseTopicPattern(text: string): TopicPattern | { problem: string } {
  const problem = problemOf(text);
  if (problem !== undefined) return { problem };
  const levels = text.split('/');
  const names = [...text.matchAll(NAME)].map(([, name]) => name!);
  // In MQTT `a/#` matches `a`, too.
  const isOpen = levels.at(-1) === '#';
  const readers = (isOpen ? levels.slice(0, -1) : levels).map(levelReader);
  return {
    filter: levels.map((level) => (level.includes('{') ? '+' : level)).join('/'),
    names,
    match(topic) {
      const topicLevels = topic.split('/');
      if (topicLevels.length < readers.length || (topicLevels.length > readers.length && !isOpen))
        return undefined;
      const values: string[] = [];
      for (const [index, read] of readers.entries()) {
        const found = read(topicLevels[index]!);
        if (found === undefined) return undefined;
        values.push(...found);
      }
      return Object.fromEntries(names.map((name, index) => [name, values[index]!]));
    },
  };
}

const PATTERN_CHARACTERS_MAX = 1_000;

function problemOf(text: string): string | undefined {
  if (text === '' || text.length > PATTERN_CHARACTERS_MAX)
    return `must be 1 to ${formatCount(PATTERN_CHARACTERS_MAX)} characters`;
  if (text.includes('\0')) return 'must not contain a NUL character';
  if (text.startsWith('$share/')) return 'must be a topic without $share';
  const levels = text.split('/');
  if (levels.some((level, index) => level.includes('#') && (level !== '#' || index < levels.length - 1)))
    return '"#" can only be the whole last level, such as "site/#"';
  if (levels.some((level) => level.includes('+') && level !== '+'))
    return '"+" can only be a whole level, such as "site/+/power"';
  if (/[{}]/.test(text.replace(NAME, ''))) return 'a named level is written {name}, with letters and digits';
  if (text.includes('}{')) return 'there must be some text between two names of a level';
  const names = [...text.matchAll(NAME)].map(([, name]) => name);
  const twice = names.find((name, index) => names.indexOf(name) < index);
  return twice === undefined ? undefined : `{${twice}} is there twice`;
}

/** Reads the texts of the names of a level. Undefined if the level does not fit. */
type LevelReader = (level: string) => readonly string[] | undefined;

function levelReader(pattern: string): LevelReader {
  if (pattern === '+') return () => [];
  // Each text is followed by a name.
  const texts = pattern.split(NAME).filter((_, index) => index % 2 === 0);
  return texts.length === 1
    ? (level) => (level === pattern ? [] : undefined)
    : (level) => between(level, texts);
}

/**
 * What stands between the texts, at least one character each. If there are several ways, the first one is as
 * long as possible, then the second one, and so on. The text is read once, from the end. A regular expression
 * could read it very often, and anybody can send a topic.
 */
function between(level: string, texts: readonly string[]): readonly string[] | undefined {
  const first = texts[0]!;
  const last = texts.at(-1)!;
  if (!level.startsWith(first) || !level.endsWith(last)) return undefined;
  const values: string[] = [];
  let end = level.length - last.length;
  for (const text of texts.slice(1, -1).reverse()) {
    const at = level.lastIndexOf(text, end - 1 - text.length);
    if (at < 0) return undefined;
    values.unshift(level.slice(at + text.length, end));
    end = at;
  }
  return end > first.length ? [level.slice(first.length, end), ...values] : undefined;
}
