/** The value below which this share of the values lies. The order of the values stays. */
export function quantile(values: readonly number[], share: number): number {
  return values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * share))]!;
}

/** Of an even number of values the upper one in the middle. */
export function median(values: readonly number[]): number {
  return quantile(values, 0.5);
}
