import { setTimeout as delay } from 'node:timers/promises';
import { errorMessage, isRetryable, retryAfterMsOf, TransientError } from '../lib/errors.ts';
import { formatCountOf } from '../lib/format-count.ts';
import { growingWaitMs } from '../lib/growing-wait.ts';
import { type Clock, MINUTE_MS, SECOND_MS, systemClock, type UtcMs } from '../lib/time.ts';

/**
 * p-retry is not used, because it cannot wait as long as a `Retry-After` requires, and accepts no clock for
 * tests.
 */

/** The timers and random numbers of a wait. Tests bring their own. */
export interface Waiting {
  clock: Clock;
  /** Resolves after `ms`. Rejects with the signal's reason if it aborts. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** A number from 0 to 1, without 1. */
  random(): number;
}

export const systemWaiting: Waiting = {
  clock: systemClock,
  random: Math.random,
  sleep: async (ms, signal) => {
    try {
      await delay(ms, undefined, { signal });
    } catch (error) {
      signal?.throwIfAborted();
      throw error;
    }
  },
};

/** How often an operation is tried, and the waits between. */
export interface Backoff {
  /** The upper end of the first wait. Each later wait doubles it, up to `maxMs`. */
  baseMs: number;
  maxMs: number;
  /** The number of attempts, the first one included. */
  attemptsMax: number;
  /** A longer `Retry-After` is cut to this time. */
  retryAfterMsMax: number;
}

export const defaultBackoff: Backoff = {
  baseMs: 250,
  maxMs: 15 * SECOND_MS,
  attemptsMax: 7,
  retryAfterMsMax: MINUTE_MS,
};

/**
 * The wait in ms after attempt number `attempt`: a random time up to the doubled base ("full jitter"), so
 * that many consumers do not return at the same moment. A server's `Retry-After` is the minimum.
 */
export function backoffMs(
  attempt: number,
  random: () => number,
  backoff: Backoff = defaultBackoff,
  retryAfterMs?: number,
): number {
  const ceilingMs = growingWaitMs(attempt, backoff.baseMs, backoff.maxMs);
  const jitterMs = Math.round(random() * ceilingMs);
  if (retryAfterMs === undefined) return jitterMs;
  return Math.min(retryAfterMs, backoff.retryAfterMsMax) + Math.round(random() * backoff.baseMs);
}

/**
 * Reads a `Retry-After` header (seconds or an HTTP date) as milliseconds from now; undefined for other text.
 */
export function parseRetryAfter(text: string | undefined, nowMs: UtcMs): number | undefined {
  if (text === undefined) return undefined;
  const trimmed = text.trim();
  if (/^\d{1,9}$/.test(trimmed)) return Number(trimmed) * 1_000;
  if (!/^[A-Za-z]{3},/.test(trimmed)) return undefined;
  const atMs = Date.parse(trimmed);
  return Number.isNaN(atMs) ? undefined : Math.max(0, atMs - nowMs);
}

/**
 * Runs `operation` until it succeeds, until it fails with an error that a retry cannot solve, or until no
 * attempt is left. A thrown error may have `details.retryAfterMs`.
 * @throws the error itself if a repetition cannot help; TransientError with the last error as cause after the
 *   last attempt; the signal's reason if it aborts
 */
export async function withRetries<T>(
  operation: (attempt: number) => Promise<T>,
  options: {
    backoff?: Backoff;
    waiting?: Waiting;
    signal?: AbortSignal;
    onRetry?: (error: unknown) => void;
  } = {},
): Promise<T> {
  const { backoff = defaultBackoff, waiting = systemWaiting, signal, onRetry } = options;
  for (let attempt = 1; ; attempt++) {
    signal?.throwIfAborted();
    try {
      return await operation(attempt);
    } catch (error) {
      signal?.throwIfAborted();
      if (!isRetryable(error)) throw error;
      if (attempt >= backoff.attemptsMax) {
        throw new TransientError(
          'RetriesExhausted',
          `gave up after ${formatCountOf(attempt, 'try', 'tries')}: ${errorMessage(error)}`,
          {
            cause: error,
          },
        );
      }
      onRetry?.(error);
      await waiting.sleep(backoffMs(attempt, waiting.random, backoff, retryAfterMsOf(error)), signal);
    }
  }
}
