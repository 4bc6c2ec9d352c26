/**
 * Invisible characters that change what a terminal shows: control characters (C0, DEL, C1), marks of writing
 * direction, line and paragraph separators, and halves of surrogate pairs.
 */
const UNSEEN =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the pattern looks for them
  /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]|\p{Surrogate}/gu;

/**
 * Escapes invisible characters, as `\u001b`, in text that Wattline did not write and that is printed on one
 * line. `stripVTControlCharacters` of Node only removes sequences such as colors.
 */
export function visibleText(text: string): string {
  return text.replace(UNSEEN, escaped);
}

/** Like `visibleText`, for text of several lines that becomes one. */
export function visibleLine(text: string): string {
  return visibleText(text.replace(/\s+/g, ' ').trim());
}

/** Like `visibleText`, for our own text of several lines: line ends stay. */
export function visibleLines(text: string): string {
  return text.replace(UNSEEN, (character) => (character === '\n' ? character : escaped(character)));
}

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

/** Escapes all texts in plain data, so that no text adds a line to the output. */
export function visibleData<Data>(data: Data): Data {
  if (typeof data === 'string') return visibleText(data) as Data;
  if (Array.isArray(data)) return data.map(visibleData) as Data;
  if (typeof data !== 'object' || data === null || Object.getPrototypeOf(data) !== Object.prototype)
    return data;
  return Object.fromEntries(
    Object.entries(data).map(([key, value]) => [visibleText(key), visibleData(value)]),
  ) as Data;
}
