import { StreamError } from '../../contract/stream-errors.ts';

/** Counts what there may be only so much of for each owner. */
export interface Quota {
  /**
   * Counts it from now on.
   * @returns gives it back, once however often it is called
   * @throws StreamError RateLimited where this owner would have more than it may have; nothing is counted then
   */
  take(owner: string, amount?: number): () => void;
}

/** @param refusal what an owner is told that has all it may have */
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
