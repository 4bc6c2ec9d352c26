import { addAbortListener } from 'node:events';

/**
 * Waits for work until it ends or the signal fires. After the signal the work continues, and its error is
 * ignored.
 * @throws the signal's reason if it fires first
 */
export async function raceAbort<Result>(
  work: Promise<Result>,
  signal: AbortSignal | undefined,
): Promise<Result> {
  if (!signal) return work;
  const aborted = Promise.withResolvers<never>();
  using _listening = addAbortListener(signal, () => aborted.reject(signal.reason));
  return await Promise.race([work, aborted.promise]);
}
