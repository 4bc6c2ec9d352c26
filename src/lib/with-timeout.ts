/**
 * Waits for a promise for at most `withinMs`.
 * @returns `late` after that time. The promise continues, and its error is ignored
 */
export async function withTimeout<Result>(
  promise: Promise<Result>,
  withinMs: number,
): Promise<Result | 'late'> {
  const timer = Promise.withResolvers<'late'>();
  const timeout = setTimeout(() => timer.resolve('late'), withinMs);
  try {
    return await Promise.race([promise, timer.promise]);
  } finally {
    clearTimeout(timeout);
  }
}
