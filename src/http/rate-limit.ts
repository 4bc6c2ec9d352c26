import { hash } from 'node:crypto';
import { type Clock, MINUTE_MS, SECOND_MS, type UtcMs } from '../lib/time.ts';

export interface RateLimit {
  /** Takes one request from the caller's share. Returns 0, or the seconds until there is one again. */
  take(key: string): number;
}

/** Callers that are remembered; the one that was longest quiet is forgotten first. */
const CALLERS_MAX = 50_000;

/** A token bucket for each caller: `perMinute` requests at once at most, and as many again over each minute. */
export function createRateLimit(options: { perMinute: number; clock: Clock }): RateLimit {
  const { perMinute, clock } = options;
  const buckets = new Map<string, { left: number; atMs: UtcMs }>();
  return {
    take(key) {
      const nowMs = clock.now();
      const bucket = buckets.get(key) ?? { left: perMinute, atMs: nowMs };
      const passedMs = Math.max(0, nowMs - bucket.atMs);
      bucket.left = Math.min(perMinute, bucket.left + (passedMs * perMinute) / MINUTE_MS);
      bucket.atMs = nowMs;
      buckets.delete(key);
      buckets.set(key, bucket);
      if (buckets.size > CALLERS_MAX) buckets.delete(buckets.keys().next().value!);
      if (bucket.left < 1) return Math.ceil(((1 - bucket.left) * MINUTE_MS) / perMinute / SECOND_MS);
      bucket.left--;
      return 0;
    },
  };
}

/** Callers are told apart by their token, of which only a hash is kept; by their address where they send none. */
export function rateLimitKey(authorization: string | undefined, address: string): string {
  return authorization === undefined ? address : hash('sha256', authorization, 'base64');
}
