/** A message of the service as a sentence. Its messages begin in lower case and have no full stop. */
export function sentence(text: string): string {
  return text && `${text[0]!.toUpperCase()}${text.slice(1)}${/[.!?]$/.test(text) ? '' : '.'}`;
}
