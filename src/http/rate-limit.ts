import { LRUCache } from 'lru-cache';
import type { Authentication } from '../access/authentication.ts';
import { type Clock, MINUTE_MS, SECOND_MS, type UtcMs } from '../lib/time.ts';
import { addressGroup } from './address-group.ts';

/*
 * A bucket of our own, because rate-limiter-flexible has no bound on the callers that it remembers (one timer each), gives back all of a
 * share at once at the end of a minute, and takes no clock.
 */

/** Whose share a request is taken from: that of its token where the token is valid, else that of its address. */
export type Caller = { tokenId: string } | { address: string };

export interface RateLimit {
  /** Takes one request from the caller's share. Returns 0, or the seconds until there is one again. */
  take(caller: Caller): number;
}

/** Tokens, and as many addresses, that are remembered; the one that was longest quiet is forgotten first. */
const CALLERS_MAX = 50_000;

/** A token bucket for each caller: `perMinute` requests at once at most, and as many again over each minute. */
export function createRateLimit(options: { perMinute: number; clock: Clock }): RateLimit {
  const { perMinute, clock } = options;
  // Apart, so that inventing addresses makes no token forgotten.
  const tokens = new LRUCache<string, Bucket>({ max: CALLERS_MAX });
  const addresses = new LRUCache<string, Bucket>({ max: CALLERS_MAX });
  return {
    take(caller) {
      const nowMs = clock.now();
      const [buckets, key] =
        'tokenId' in caller ? [tokens, caller.tokenId] : [addresses, addressGroup(caller.address)];
      const bucket = buckets.get(key) ?? { left: perMinute, atMs: nowMs };
      const passedMs = Math.max(0, nowMs - bucket.atMs);
      bucket.left = Math.min(perMinute, bucket.left + (passedMs * perMinute) / MINUTE_MS);
      bucket.atMs = nowMs;
      buckets.set(key, bucket);
      if (bucket.left < 1) return Math.ceil(((1 - bucket.left) * MINUTE_MS) / perMinute / SECOND_MS);
      bucket.left--;
      return 0;
    },
  };
}

interface Bucket {
  left: number;
  atMs: UtcMs;
}

/** The caller of a request: its token if the token is valid, otherwise its address. */
export function callerOf(authentication: Authentication, address: string): Caller {
  return authentication.kind === 'granted' ? { tokenId: authentication.grant.tokenId } : { address };
}

/** What a caller hears that has to wait. */
export function tooMany(what: 'requests' | 'connections', caller: Caller): string {
  return `too many ${what} ${'tokenId' in caller ? 'with this token' : 'from this address without a token that is valid'}`;
}
