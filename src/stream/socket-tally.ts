import { StreamError } from '../contract/errors.ts';

/** Counts what there may be only so many of for each owner. */
export interface Tally {
  /** @throws StreamError RateLimited where this owner has all it may have */
  check(owner: string): void;
  add(owner: string): void;
  remove(owner: string): void;
}

/** @param kind what an owner is called in the error, such as "this token" */
export function createTally(max: number, kind: string): Tally {
  const counts = new Map<string, number>();
  const countOf = (owner: string) => counts.get(owner) ?? 0;
  return {
    check(owner) {
      if (countOf(owner) >= max)
        throw new StreamError('RateLimited', `${kind} has ${max} connections already; close one first`);
    },
    add: (owner) => counts.set(owner, countOf(owner) + 1),
    remove(owner) {
      if (countOf(owner) > 1) counts.set(owner, countOf(owner) - 1);
      else counts.delete(owner);
    },
  };
}
