import { StreamError } from '../../contract/stream-errors.ts';

/** Counts what there may be only so much of for each owner. */
export interface Quota {
  /** @throws StreamError RateLimited where this owner would have more than it may have */
  check(owner: string, amount?: number): void;
  add(owner: string, amount?: number): void;
  remove(owner: string, amount?: number): void;
}

/** @param refusal what an owner is told that has all it may have */
export function createQuota(max: number, refusal: string, retryAfterSeconds?: number): Quota {
  const sums = new Map<string, number>();
  const sumOf = (owner: string) => sums.get(owner) ?? 0;
  return {
    check(owner, amount = 1) {
      if (sumOf(owner) + amount > max) throw new StreamError('RateLimited', refusal, {}, retryAfterSeconds);
    },
    add: (owner, amount = 1) => sums.set(owner, sumOf(owner) + amount),
    remove(owner, amount = 1) {
      if (sumOf(owner) > amount) sums.set(owner, sumOf(owner) - amount);
      else sums.delete(owner);
    },
  };
}
