/** The words of an identifier, such as `battery charge` of `battery_charge`. */
export function identifierWords(identifier: string): string {
  return identifier.replaceAll('_', ' ');
}
