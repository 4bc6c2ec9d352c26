/** A text in which `*` is any text and `?` any character. */
export interface WildcardPattern {
  /** True if the whole text fits. */
  test(text: string): boolean;
}

/**
 * This is not a regular expression, because the texts come from strangers. With several `*`, the time of a
 * regular expression can grow with the square of the length of the text. `path.matchesGlob` of
 * Node makes one, and its `*` ends at a slash.
 */
export function wildcardPattern(pattern: string): WildcardPattern {
  return {
    test(text) {
      let at = 0;
      let place = 0;
      /** The last `*` that was passed, and the end of the text that it matches so far. */
      let star = -1;
      let end = 0;
      while (at < text.length) {
        if (pattern[place] === '*') {
          star = place++;
          end = at;
        } else if (place < pattern.length && (pattern[place] === '?' || pattern[place] === text[at])) {
          place++;
          at++;
        } else if (star >= 0) {
          // Only the last `*` has to match more text. Everything before it already matches.
          place = star + 1;
          at = ++end;
        } else return false;
      }
      while (pattern[place] === '*') place++;
      return place === pattern.length;
    },
  };
}
