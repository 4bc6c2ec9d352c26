import { StreamError } from '../contract/stream-errors.ts';

/** Limits an amount for each owner. */
interface Quota {
  /**
   * Counts an amount until it is given back.
   * @returns a function that gives the amount back; further calls change nothing
   * @throws StreamError RateLimited if the owner would exceed the limit; nothing is counted then
   */
  take(owner: string, amount?: number): () => void;
}

/** @param refusal the error text for an owner that has reached the limit */
export function createQuota(max: number, refusal: string, retryAfterSeconds?: number): Quota {
  const sums = new Map<string, number>();
  const sumOf = (owner: string) => sums.get(owner) ?? 0;
  return {
    take(owner, amount = 1) {
      if (sumOf(owner) + amount > max) throw new StreamError('RateLimited', refusal, {}, retryAfterSeconds);
      sums.set(owner, sumOf(owner) + amount);
      let taken = amount;
      return () => {
        const left = sumOf(owner) - taken;
        taken = 0;
        if (left > 0) sums.set(owner, left);
        else sums.delete(owner);
      };
    },
  };
}
