/**
 * Waits for a promise, but not longer than `withinMs`.
 * @returns `late` where the time ran out; the promise goes on and what it throws then is nobody's concern
 */
export async function withTimeout<T>(promise: Promise<T>, withinMs: number): Promise<T | 'late'> {
  const timer = Promise.withResolvers<'late'>();
  const timeout = setTimeout(() => timer.resolve('late'), withinMs);
  try {
    return await Promise.race([promise, timer.promise]);
  } finally {
    clearTimeout(timeout);
  }
}
