/**
 * Places for work of several owners. No owner can make the others wait with a burst of work. A queue of
 * p-queue has one order for all work, and does not know owners.
 */
interface FairSlots {
  /**
   * Takes a place, or waits for one.
   * @returns a function that gives the place back
   * @throws `refused()` if the owner has too much work that waits
   */
  take(owner: string): Promise<() => void>;
}

interface FairSlotsOptions {
  /** Places of one owner. There is one more than that, which only another owner can take. */
  ownMax: number;
  /** Work that waits, in all. An owner has at most as much as there are places left. */
  waitingMax: number;
  refused(): Error;
}

export function createFairSlots({ ownMax, waitingMax, refused }: FairSlotsOptions): FairSlots {
  const running = new Map<string, number>();
  /** The owner that was served last is at the end. */
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
   * Of the owners that may begin, the one with the least running work is next; of equal owners, the owner
   * that was served earliest.
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
      if (!hasShare(queue.length, waitingCount, waitingMax)) throw refused();
      waitingCount += 1;
      waiting.set(owner, queue);
      return new Promise((resolve) => {
        queue.push(() => resolve(begin(owner)));
      });
    },
  };
}

/**
 * True if an owner may have one more of a number of places: it has fewer than are left, so there is always
 * one for another owner.
 */
export function hasShare(own: number, taken: number, max: number): boolean {
  return own < max - taken;
}
