import stringWidth from 'fast-string-width';

/**
 * The columns that a text takes in a terminal or in a font of fixed width. Characters of East Asia and emoji
 * take two, combining characters none. The library `string-width` measures the same, but each command that
 * shows a table would start 50 ms later.
 */
export function displayWidth(text: string): number {
  // The library counts each part of a decomposed Korean syllable.
  return stringWidth(text.normalize());
}

/** Like `padEnd` of strings, by the width that is seen. */
export function padDisplayEnd(text: string, width: number): string {
  return text + blanks(text, width);
}

/** Like `padStart` of strings, by the width that is seen. */
export function padDisplayStart(text: string, width: number): string {
  return blanks(text, width) + text;
}

function blanks(text: string, width: number): string {
  return ' '.repeat(Math.max(0, width - displayWidth(text)));
}
