/** The sum of the values that are known. Null if nothing is known, because that is not zero. */
export function sumOfKnown(values: ReadonlyArray<number | null | undefined>): number | null {
  const known = values.filter((value) => value != null);
  return known.length === 0 ? null : known.reduce((sum, value) => sum + value, 0);
}
