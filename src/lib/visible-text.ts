/**
 * Characters that change what a terminal shows without being seen: controls (C0, DEL, C1), the marks that turn the direction of
 * writing, the line and paragraph separators, and halves of surrogate pairs.
 */
const UNSEEN =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]|\p{Surrogate}/gu;

/** Text that others named, as it may be printed on one line: what is not seen is written as `\u001b`. */
export function visibleText(text: string): string {
  return text.replace(UNSEEN, escaped);
}

/** As `visibleText`, for text of several lines that we have laid out: ends of lines stay. */
export function visibleLines(text: string): string {
  return text.replace(UNSEEN, (character) => (character === '\n' ? character : escaped(character)));
}

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

/** The same of every text in plain data, so that what is laid out of it has no line that somebody else has put in. */
export function visibleData<Data>(data: Data): Data {
  if (typeof data === 'string') return visibleText(data) as Data;
  if (Array.isArray(data)) return data.map(visibleData) as Data;
  if (typeof data !== 'object' || data === null || Object.getPrototypeOf(data) !== Object.prototype)
    return data;
  return Object.fromEntries(
    Object.entries(data).map(([key, value]) => [visibleText(key), visibleData(value)]),
  ) as Data;
}
