const CHARACTERS_MAX = 60;

/** A text from a file as an error shows it: at most 60 characters, control characters replaced. */
export function clipText(text: string): string {
  const short = text.length <= CHARACTERS_MAX ? text : `${text.slice(0, CHARACTERS_MAX - 1)}…`;
  return short.replace(/\p{Cc}/gu, '\ufffd');
}
