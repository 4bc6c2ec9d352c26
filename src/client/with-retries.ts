import { setTimeout as delay } from 'node:timers/promises';
import { errorMessage, isRetryable, TransientError } from '../lib/errors.ts';
import { type Clock, systemClock, type UtcMs } from '../lib/time.ts';

/*
 * Not p-retry: it neither waits as long as a `Retry-After` says nor takes a clock for tests, so that it would need this file beside it.
 */

/** What waiting needs from the world; tests bring their own. */
export interface Waiting {
  clock: Clock;
  /** Resolves after `ms`; rejects with the signal's reason when it is aborted. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** A number from 0 up to, but not including, 1. */
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

export interface Backoff {
  /** The upper end of the first wait; each later one doubles it, up to `maxMs`. */
  baseMs: number;
  maxMs: number;
  /** Tries in all, the first one included. */
  attemptsMax: number;
  /** A `Retry-After` is obeyed up to here. */
  retryAfterMsMax: number;
}

export const defaultBackoff: Backoff = {
  baseMs: 250,
  maxMs: 15_000,
  attemptsMax: 7,
  retryAfterMsMax: 60_000,
};

/**
 * How long to wait before try number `attempt` + 1 (ms): anywhere between nothing and the doubled base ("full jitter"),
 * so that many consumers do not come back together. Where the server said when to return, never before that.
 */
export function backoffMs(
  attempt: number,
  random: () => number,
  backoff: Backoff = defaultBackoff,
  retryAfterMs?: number,
): number {
  const ceilingMs = Math.min(backoff.maxMs, backoff.baseMs * 2 ** Math.min(attempt - 1, 30));
  const jitterMs = Math.round(random() * ceilingMs);
  if (retryAfterMs === undefined) return jitterMs;
  return Math.min(retryAfterMs, backoff.retryAfterMsMax) + Math.round(random() * backoff.baseMs);
}

/** Reads a `Retry-After` header, seconds or an HTTP date, as milliseconds from now; undefined when it is neither. */
export function parseRetryAfter(text: string | undefined, nowMs: UtcMs): number | undefined {
  if (text === undefined) return undefined;
  const trimmed = text.trim();
  if (/^\d{1,9}$/.test(trimmed)) return Number(trimmed) * 1_000;
  if (!/^[A-Za-z]{3},/.test(trimmed)) return undefined;
  const atMs = Date.parse(trimmed);
  return Number.isNaN(atMs) ? undefined : Math.max(0, atMs - nowMs);
}

/**
 * Runs `operation` until it succeeds, fails for good, or has been tried often enough.
 * A thrown error may carry `details.retryAfterMs`.
 * @throws the error itself when trying again is not worth it; TransientError around the last one when tries ran out;
 *   the signal's reason when it is aborted
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
          `gave up after ${attempt} tries: ${errorMessage(error)}`,
          {
            cause: error,
          },
        );
      }
      onRetry?.(error);
      const retryAfterMs = error instanceof TransientError ? error.details.retryAfterMs : undefined;
      await waiting.sleep(
        backoffMs(
          attempt,
          waiting.random,
          backoff,
          typeof retryAfterMs === 'number' ? retryAfterMs : undefined,
        ),
        signal,
      );
    }
  }
}
