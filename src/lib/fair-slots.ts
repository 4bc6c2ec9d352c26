/**
 * Places for work of several owners. If one owner has much work, the others need not wait for all of it.
 * p-queue cannot do this: it has one order for all work, and does not know owners.
 */
interface FairSlots {
  /**
   * Takes a place, or waits for one.
   * @returns a function that gives the place back
   * @throws `refusedError()` if the owner has too much work that waits
   */
  take(owner: string): Promise<() => void>;
}

interface FairSlotsOptions {
  /**
   * The maximum number of places of one owner. In all there is one place more, which only another owner can
   * take.
   */
  ownMax: number;
  /** Most requests that may wait, of all owners. See `hasShare` for one owner. */
  waitingMax: number;
  refusedError(): Error;
}

export function createFairSlots({ ownMax, waitingMax, refusedError }: FairSlotsOptions): FairSlots {
  const running = new Map<string, number>();
  /** Work that waits, by owner. The owner that was served last is at the end. */
  const waiting = new Map<string, Array<() => void>>();
  let runningCount = 0;
  let waitingCount = 0;
  const runningOf = (owner: string) => running.get(owner) ?? 0;
  const mayBegin = (owner: string) => runningCount <= ownMax && runningOf(owner) < ownMax;

  function begin(owner: string): () => void {
    runningCount += 1;
    running.set(owner, runningOf(owner) + 1);
    return () => {
      runningCount -= 1;
      const left = runningOf(owner) - 1;
      if (left > 0) running.set(owner, left);
      else running.delete(owner);
      next();
    };
  }

  /**
   * Begins the next work. Of the owners that may begin, the one with the least running work is next. If
   * several have equally little, the one that has waited longest since its last turn is next.
   */
  function next(): void {
    const [owner] = [...waiting.keys()]
      .filter(mayBegin)
      .toSorted((one, other) => runningOf(one) - runningOf(other));
    if (owner === undefined) return;
    const queue = waiting.get(owner)!;
    waiting.delete(owner);
    const start = queue.shift()!;
    waitingCount -= 1;
    if (queue.length > 0) waiting.set(owner, queue);
    start();
  }

  return {
    async take(owner) {
      if (mayBegin(owner)) return begin(owner);
      const queue = waiting.get(owner) ?? [];
      if (!hasShare(queue.length, waitingCount, waitingMax)) throw refusedError();
      waitingCount += 1;
      waiting.set(owner, queue);
      return new Promise((resolve) => {
        queue.push(() => resolve(begin(owner)));
      });
    },
  };
}

/**
 * True if an owner may take one more of `max` places. It may if it has fewer places than are free. So an
 * owner alone never takes all of them.
 */
export function hasShare(own: number, taken: number, max: number): boolean {
  return own < max - taken;
}
