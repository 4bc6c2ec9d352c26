/** Names of members, from the outermost one, as a JSON pointer (RFC 6901). */
export function jsonPointer(names: readonly string[]): string {
  return names.map((name) => `/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
}
