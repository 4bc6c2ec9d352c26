/** A share such as 0.1 in percent, with at most two decimals. */
export function inPercent(share: number): number {
  return Number((share * 100).toFixed(2));
}
