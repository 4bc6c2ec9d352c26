import { nearest } from '../lib/input-words.ts';

/** The maximum number of names that an error lists. */
const NAMES_SHOWN_MAX = 20;

/** `the meters are A, B`, with a few names at most. */
export function knownText(what: string, names: readonly string[]): string {
  if (names.length === 0) return `there are no ${what} that the token may see`;
  const list = names.slice(0, NAMES_SHOWN_MAX).join(', ');
  return `the ${what} are ${list}${names.length > NAMES_SHOWN_MAX ? ` and ${names.length - NAMES_SHOWN_MAX} more` : ''}`;
}

/**
 * The known names, after a question such as `is it garage?` if one differs by one or two letters.
 * @param others further texts that can be meant, but are not listed
 */
export function meantText(
  written: string,
  what: string,
  names: readonly string[],
  others: readonly string[] = [],
): string {
  const near = nearest(written, [...names, ...others]);
  const known = knownText(what, names);
  return near === undefined ? known : `is it ${near}? T${known.slice(1)}`;
}
