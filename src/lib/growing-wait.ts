/** The wait is doubled at most this many times, so that the number cannot overflow. */
const DOUBLINGS_MAX = 30;

/**
 * The time to wait after the n-th failure in a row (ms). Each failure doubles it.
 * @param failures from 1 on
 * @param firstMs the wait after the first failure
 */
export function growingWaitMs(
  failures: number,
  firstMs: number,
  maxMs: number = Number.POSITIVE_INFINITY,
): number {
  return Math.min(maxMs, firstMs * 2 ** Math.min(failures - 1, DOUBLINGS_MAX));
}
