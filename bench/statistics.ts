/** The value below which this share of the values lies. It does not change the order of `values`. */
export function quantile(values: readonly number[], share: number): number {
  return values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * share))]!;
}

/** The median. For an even number of values it is the upper one of the two in the middle. */
export function median(values: readonly number[]): number {
  return quantile(values, 0.5);
}
