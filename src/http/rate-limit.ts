import { LRUCache } from 'lru-cache';
import type { Authentication } from '../access/check-token.ts';
import { type Clock, MINUTE_MS, SECOND_MS, type UtcMs } from '../lib/time.ts';
import { addressGroup } from './address-group.ts';

/** The owner of a share of requests: a valid token, or an address. */
type Caller = { tokenId: string } | { address: string };

export interface RateLimit {
  /**
   * Takes one request from the caller's share. Returns 0, or the seconds until the next request is allowed.
   */
  take(caller: Caller): number;
}

/**
 * Tokens that are kept, and addresses that are kept. The one without requests for longest is dropped first.
 */
const CALLERS_MAX = 50_000;

/**
 * Creates a token bucket for each caller: it allows `perMinute` requests at once, and refills by that number
 * in a minute. The library rate-limiter-flexible keeps an unbounded number of callers, each with a timer,
 * returns the whole share at once at the end of a minute, and accepts no clock.
 */
export function createRateLimit(options: { perMinute: number; clock: Clock }): RateLimit {
  const { perMinute, clock } = options;
  // Tokens and addresses have separate caches, so that many addresses cannot displace a token.
  const tokens = createBuckets();
  const addresses = createBuckets();
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

/**
 * Grows with its callers. With its option `max`, lru-cache allocates its lists for all callers at once. So
 * each caller has the size 1, and the sum of the sizes is limited.
 */
function createBuckets(): LRUCache<string, Bucket> {
  return new LRUCache({ maxSize: CALLERS_MAX, sizeCalculation: () => 1 });
}

/** The caller of a request: its token if the token is valid, otherwise its address. */
export function callerOf(authentication: Authentication, address: string): Caller {
  return authentication.kind === 'granted' ? { tokenId: authentication.grant.tokenId } : { address };
}

/** The error text for a caller that must wait. */
export function tooManyText(what: 'requests' | 'connections', caller: Caller): string {
  return `too many ${what} ${'tokenId' in caller ? 'with this token' : 'from this address without a token that is valid'}`;
}
