const SHOWN_CHARACTERS_MAX = 60;

/** A text of a file as an error shows it: at most 60 characters, control characters replaced. */
export function clipText(text: string): string {
  return shortenText(text, SHOWN_CHARACTERS_MAX).replace(/\p{Cc}/gu, '\ufffd');
}

/** A text of at most this many characters. The last one of a text that was cut is an ellipsis. */
export function shortenText(text: string, charactersMax: number): string {
  return text.length <= charactersMax ? text : `${text.slice(0, charactersMax - 1).toWellFormed()}…`;
}
